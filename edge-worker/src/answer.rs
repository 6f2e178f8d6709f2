//! The gate's answers to clients.

use js_sys::ArrayBuffer;
use oncegate_core::header;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{State, Terms, View, retry_after_ms};
use oncegate_core::outcome::Status;
use oncegate_core::problem::{Code, Problem};
use oncegate_core::recent::LARGEST_BYTES;
use worker::{Response, ResponseBuilder, Result};

use crate::fields::Fields;
use crate::{body, headers, pace, wire};

/// The pause to ask for where nothing is known of the operation.
const RETRY_HINT_MS: u64 = 1_000;

/// How a request was decided, if not by a problem's code (`Oncegate-Decision`).
pub(crate) const DISPATCHED: &str = "dispatched";
pub(crate) const REPLAYED: &str = "replayed";
pub(crate) const WAITED: &str = "waited";

/// To a gate, on an answer that it may remember (decision 12): for how long, in milliseconds. On the answer of an attempt,
/// which has more header fields than its replay, the names of the replay's follow. Earlier gates do not know this mark: they
/// would give all of the fields again.
pub(crate) const REMEMBER: &str = "oncegate-remember";

/// What [`Mark::put`] says of an operation, whatever has become of it.
pub(crate) const ABOUT_OPERATION: [&str; 3] = [
    header::OPERATION,
    header::KEY_KIND,
    header::IDEMPOTENCY_KEY_LIFETIME,
];

/// An answer that can be given to more than one request.
pub(crate) type Answer = oncegate_store::Answer<ArrayBuffer>;

/// What every answer about an operation says of it (rule P3).
pub(crate) struct Mark<'a> {
    operation: &'a str,
    kind: KeyKind,
    key_ttl_ms: u64,
    /// How long an attempt of the route usually takes.
    median_ms: Option<u64>,
}

impl<'a> Mark<'a> {
    /// The lifetime is the record's own: a later configuration changes later operations only.
    pub(crate) fn new(operation: &'a str, kind: KeyKind, terms: &Terms) -> Self {
        Self {
            operation,
            kind,
            key_ttl_ms: terms.key_ttl_ms,
            median_ms: pace::median_ms(&terms.route),
        }
    }

    pub(crate) fn put(&self, fields: &mut Fields, status: Status) {
        fields.set(header::IDEMPOTENCY_STATUS, status.as_str());
        fields.set(header::OPERATION, self.operation);
        fields.set(header::KEY_KIND, self.kind.as_str());
        fields.set(
            header::IDEMPOTENCY_KEY_LIFETIME,
            (self.key_ttl_ms / 1_000).to_string(),
        );
    }

    /// Turns a request away, with what may be told about the operation.
    pub(crate) fn problem(&self, now_ms: u64, code: Code, view: &View) -> Result<Response> {
        let problem =
            Problem::about(code, self.operation, view).retry_after(self.hint_ms(now_ms, view));
        self.write(&problem, view)
    }

    /// Says that nothing is known of an operation that has no record.
    pub(crate) fn problem_of_absent(&self, code: Code) -> Result<Response> {
        let mut problem = Problem::new(code).retry_after(RETRY_HINT_MS);
        problem.operation = Some(self.operation.to_owned());
        let mut fields = fields(&problem);
        self.put(&mut fields, Status::Unknown);
        write(&problem, &fields)
    }

    /// Answers the request whose attempt was lost.
    pub(crate) fn lost(&self, now_ms: u64, status: u16, view: &View) -> Result<Response> {
        let problem = Problem::about(Code::OutcomeUnknown, self.operation, view)
            .retry_after(self.hint_ms(now_ms, view))
            .met_with(status);
        decided(self.write(&problem, view)?, DISPATCHED)
    }

    /// Answers the request whose answer has a status that cannot be passed on, with what a duplicate hears.
    pub(crate) fn impassable(&self, now_ms: u64, view: &View) -> Result<Response> {
        let code = match view.state {
            State::Cancelled => Code::OperationCancelled,
            State::Executed => Code::ResultUnavailable,
            State::Refused => Code::OperationRefused,
            State::Dispatched | State::Released | State::Unknown => {
                return self.lost(now_ms, 502, view);
            }
        };
        self.problem(now_ms, code, view)
    }

    /// Gives an answer again.
    pub(crate) fn again(
        &self,
        answer: &Answer,
        status: Status,
        decision: &str,
        remember_ms: u64,
    ) -> Result<wire::Response> {
        let mut fields: Fields = answer.headers.iter().cloned().collect();
        self.put(&mut fields, status);
        match status {
            Status::Executed => replayed(&mut fields, Status::Replayed),
            Status::Refused => replayed(&mut fields, Status::Refused),
            _ => {}
        }
        fields.set(header::DECISION, decision);
        mark(&mut fields, answer.body.as_ref(), remember_ms, &[]);
        body::response(answer.status, &fields, answer.body.as_ref())
    }

    /// When to send again (rule P2): soon, but not all at once.
    fn hint_ms(&self, now_ms: u64, view: &View) -> Option<u64> {
        // Any whole number below 2^53 is as random as the next.
        let seed = (js_sys::Math::random() * 9e15) as u64;
        retry_after_ms(now_ms, view, self.median_ms, seed)
    }

    fn write(&self, problem: &Problem, view: &View) -> Result<Response> {
        let mut fields = fields(problem);
        self.put(&mut fields, view.state.status());
        write(problem, &fields)
    }
}

/// Says that an answer is given once more.
fn replayed(fields: &mut Fields, status: Status) {
    fields.set(header::IDEMPOTENCY_REPLAYED, "true");
    fields.set(header::IDEMPOTENCY_STATUS, status.as_str());
}

/// Marks an answer that a gate may remember. `names` are the fields of its replay; there are none if it is one.
pub(crate) fn mark(
    fields: &mut Fields,
    body: Option<&ArrayBuffer>,
    remember_ms: u64,
    names: &[&str],
) {
    let size = body.map_or(0, ArrayBuffer::byte_length);
    if remember_ms > 0 && size as usize <= LARGEST_BYTES {
        let mark = names
            .iter()
            .fold(remember_ms.to_string(), |mark, name| mark + " " + name);
        fields.set(REMEMBER, mark);
    }
}

/// What a mark says: for how long an answer may be remembered, and the fields of its replay.
pub(crate) fn read_mark(mark: &str) -> Option<(u64, Vec<&str>)> {
    let mut words = mark.split(' ');
    let remember_ms = words.next()?.parse().ok()?;
    Some((remember_ms, words.collect()))
}

/// The header fields of a remembered answer, which its mark `names` if it is not a replay already.
pub(crate) fn remembered(mut given: Fields, names: &[&str]) -> Fields {
    if !names.is_empty() {
        given = headers::named(&given, names.iter().copied())
            .into_iter()
            .collect();
        replayed(&mut given, Status::Replayed);
    }
    // One request may have waited for it; for those who come now it lies there.
    given.set(header::DECISION, REPLAYED);
    given
}

/// Says how the request was decided that is answered with `response`.
pub(crate) fn decided(response: Response, decision: &str) -> Result<Response> {
    response.headers().set(header::DECISION, decision)?;
    Ok(response)
}

/// Says who makes the keys of the route, where the answer does not say it already.
pub(crate) fn about_keys(response: wire::Response, kind: KeyKind) -> Result<wire::Response> {
    if response.marks().kind.is_some() {
        return Ok(response);
    }
    let mut fields = Fields::default();
    fields.set(header::KEY_KIND, kind.as_str());
    response.changed(&fields, &Fields::default())
}

/// A problem that says nothing about an earlier request.
pub(crate) fn problem(problem: &Problem) -> Result<Response> {
    write(problem, &fields(problem))
}

/// A shard's answer that says nothing about the operation, which it names only as the caller has: by
/// that a gate tells it from a fault of the platform.
pub(crate) fn turn_away(problem: &Problem, operation: &str) -> Result<Response> {
    let mut fields = fields(problem);
    fields.set(header::OPERATION, operation);
    write(problem, &fields)
}

/// The gate cannot work with its settings. Which one, its log says; a client must not.
pub(crate) fn misconfigured() -> Result<Response> {
    let reason = "the gate is not configured; see its log";
    problem(&Problem::new(Code::GateUnavailable).because(reason))
}

/// The header fields of every problem.
fn fields(problem: &Problem) -> Fields {
    let mut fields = Fields::default();
    fields.set("content-type", "application/problem+json");
    fields.set("content-language", "en");
    fields.set("cache-control", "no-store");
    fields.set(header::DECISION, problem.code.as_str());
    if problem.code == Code::Unauthorized {
        fields.set("www-authenticate", "Bearer");
    }
    if let Some(wait_ms) = problem.retry_after_ms {
        fields.set("retry-after", wait_ms.div_ceil(1_000).to_string());
    }
    fields
}

fn write(problem: &Problem, fields: &Fields) -> Result<Response> {
    let body = serde_json::to_vec(problem)?;
    Ok(ResponseBuilder::new()
        .with_status(problem.status)
        .with_headers(fields.to_headers()?)
        .fixed(body))
}
