//! The things that travel.

use std::fmt;
use std::rc::Rc;

use oncegate_contract::usual::fingerprint_of;
use oncegate_core::attempt;
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::operation::View;
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::problem::{Code, Problem};

/// A key, by the order of its first appearance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyId(pub(crate) u32);

/// How many objects share the keys.
pub(crate) const SHARDS: usize = 4;

/// One hand-over to the origin, whatever its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CourierId(pub(crate) u64);

/// One request that the gate has accepted and not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallId {
    pub(crate) number: u64,
    pub(crate) shard: usize,
}

/// The card that is paid with; another card makes another payload.
pub type Card = u8;

/// The card that every shop declines.
pub const DECLINED: Card = 0;

/// What a customer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Payload {
    /// What is bought; each customer buys one thing.
    pub(crate) purchase: usize,
    pub(crate) card: Card,
}

/// Who in the browser waits for an answer: the send of a run in a tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) tab: usize,
    pub(crate) run: u64,
    pub(crate) send: u32,
}

/// A client's request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) ticket: Ticket,
    pub(crate) key: KeyId,
    pub(crate) payload: Payload,
    /// Who sent it.
    pub(crate) who: usize,
    /// How often the gate has taken it to the shard.
    pub(crate) tries: u32,
}

/// The gate's answer to a client.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) http: u16,
    /// Absent on answers that concern no operation.
    pub(crate) status: Option<Status>,
    pub(crate) body: Body,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// The gate's.
    Problem(Box<Problem>),
    /// What the gate says of an operation that was looked up or to be cancelled; `None` if it has never seen it.
    Seen(Option<View>),
    /// The origin's, or that of something before it.
    Text(Option<Text>),
}

/// The bytes of an origin's answer, which say what they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) bytes: Rc<str>,
    /// The origin's own problem `key_reused`: this other fingerprint has the key.
    pub(crate) recorded: Option<Fingerprint>,
}

/// What a courier gets from the origin.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Broken,
    Whole(Answered),
}

#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) http: u16,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) text: Option<Text>,
}

impl KeyId {
    /// The object that has the key.
    pub(crate) fn shard(self) -> usize {
        usize::try_from(self.0).unwrap_or_default() % SHARDS
    }
}

impl Payload {
    pub(crate) fn fingerprint(self) -> Fingerprint {
        let mut body_sha256 = [self.card; 32];
        body_sha256[0] = u8::try_from(self.purchase).unwrap_or(u8::MAX);
        fingerprint_of(body_sha256)
    }
}

impl Response {
    pub(crate) fn problem(problem: Problem, status: Option<Status>) -> Self {
        Self {
            http: problem.status,
            status,
            body: Body::Problem(Box::new(problem)),
        }
    }

    /// As `sdk/src/event.rs` reads it.
    pub(crate) fn as_answer(&self) -> attempt::Answer {
        let (problem, retry_after_ms) = match &self.body {
            Body::Problem(problem) => (hints(problem), problem.retry_after_ms),
            Body::Seen(view) => (view.as_ref().map(what_became).unwrap_or_default(), None),
            Body::Text(text) => (
                attempt::Problem {
                    key_reused: text.as_ref().is_some_and(|text| text.recorded.is_some()),
                    ..attempt::Problem::default()
                },
                None,
            ),
        };
        attempt::Answer {
            http_status: self.http,
            redirected: false,
            status: self.status,
            retry_after_ms,
            gate: self.status.is_some() || !matches!(self.body, Body::Text(_)),
            // A customer here knows his order number.
            unnamed: false,
            problem,
        }
    }

    pub(crate) fn text(&self) -> Option<&Text> {
        match &self.body {
            Body::Problem(_) | Body::Seen(_) => None,
            Body::Text(text) => text.as_ref().filter(|text| text.recorded.is_none()),
        }
    }
}

fn hints(problem: &Problem) -> attempt::Problem {
    attempt::Problem {
        key_reused: match problem.code {
            Code::KeyReused => true,
            Code::TokenExpired => problem.safe_new_key,
            _ => false,
        },
        state: problem.state.and_then(Outcome::parse),
        safe_new_key: problem.safe_new_key,
        retryable: Some(problem.retryable),
    }
}

fn what_became(view: &View) -> attempt::Problem {
    attempt::Problem {
        state: Outcome::parse(view.state.as_str()),
        safe_new_key: view.safe_new_key,
        ..attempt::Problem::default()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k{}", self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or("no status", Status::as_str);
        match &self.body {
            Body::Problem(problem) => {
                let state = problem.state.unwrap_or("-");
                write!(
                    f,
                    "{} {status} ({}, {state})",
                    self.http,
                    problem.code.as_str()
                )
            }
            Body::Seen(view) => {
                let state = view.as_ref().map_or("absent", |view| view.state.as_str());
                write!(f, "{} {state}", self.http)
            }
            Body::Text(Some(text)) => write!(f, "{} {status} \"{}\"", self.http, text.bytes),
            Body::Text(None) => write!(f, "{} {status}, bare", self.http),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken => f.write_str("no whole answer"),
            Self::Whole(answered) => {
                let outcome = answered.outcome.map_or("no outcome", Outcome::as_str);
                write!(f, "{} {outcome}", answered.http)
            }
        }
    }
}
