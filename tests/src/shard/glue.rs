//! The few lines between the shard and its machine, and the places where bugs are planted.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::operation::{
    Admission, Operation, Settled, Settling, State, Stored, Streaming, View,
};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::principal::Principal;
use oncegate_core::problem::{Code, Problem};
use oncegate_core::proof::{self, Origin, Rules, judge};

use serde_json::Value;

use super::Completion;
use crate::env::Env;
use crate::model::{Answered, Body, Call, Reply, Response};
use crate::plant::Plant;

/// Between them and the end of the lease, the pause that is asked for.
const RETRY_HINT_MS: u64 = 1_000;
const RETRY_JITTER_MS: u64 = 250;

/// Whose operation it is. An order number is read from the request's body.
pub(super) fn identified(env: &mut Env, call: Call) -> Call {
    let key = match env.settings.plant {
        Some(Plant::ScopeFromUser) => env.alias(call.key, call.ticket.tab as u64),
        _ => env.identity(call.key),
    };
    Call { key, ..call }
}

pub(super) fn principal(env: &Env, who: usize) -> Option<Principal> {
    let binds = env.settings.binds && !env.has(Plant::PrincipalIgnored);
    binds.then(|| Principal::of(b"secret", "shop", &who.to_string()))
}

/// The planted bugs that take a record for absent.
pub(super) fn forgets(env: &Env, record: &Operation, now_ms: u64) -> bool {
    match env.settings.plant {
        Some(Plant::TtlIsLease) => now_ms >= record.dispatched_ms() + record.terms().lease_ms,
        _ => false,
    }
}

/// What the shard makes of a call that fails: the courier is gone, and nobody knows how far it came.
pub(super) fn lost(env: &Env) -> Reply {
    match env.has(Plant::StubErrorIsOriginError) {
        true => Reply::Whole(Answered {
            http: 502,
            outcome: Some(Outcome::NotExecuted),
            text: None,
        }),
        false => Reply::Broken,
    }
}

/// Whether a reply proves that its attempt was executed.
pub(super) fn proves_execution(env: &Env, completion: &Completion) -> bool {
    let Reply::Whole(Answered { http, outcome, .. }) = &completion.reply else {
        return false;
    };
    match env.settings.terms.origin {
        Origin::Ledger => *outcome == Some(Outcome::Executed),
        Origin::None | Origin::Read => (200..400).contains(http),
    }
}

pub(super) fn arrive(
    env: &Env,
    record: Option<Operation>,
    now_ms: u64,
    call: Call,
) -> (Operation, Admission) {
    let Call { payload, who, .. } = call;
    if let Some(record) = &record
        && env.has(Plant::RefusalReplayedToOthers)
        && record.view(now_ms).state == State::Refused
        && record.has_stored_answer()
    {
        return (record.clone(), Admission::Replay);
    }
    let mut terms = env.terms();
    if env.has(Plant::LeaseOverFrees) {
        terms.origin = Origin::Ledger;
    }
    let recorded = record.as_ref().and_then(Operation::fingerprint);
    let fingerprint = recorded
        .filter(|_| env.has(Plant::FingerprintIgnored))
        .unwrap_or_else(|| payload.fingerprint());
    let who = principal(env, who);
    Operation::arrive(record, now_ms, env.settings.kind, &terms, who, fingerprint)
}

/// The record after a completion, and the answer to store or to give to waiters.
pub(super) fn settle(
    env: &Env,
    record: Operation,
    now_ms: u64,
    completion: &Completion,
) -> (Operation, Settled, Option<Answered>) {
    let is_late = record.view(now_ms).state == State::Unknown;
    if env.has(Plant::LateProofDropped) && is_late {
        return (record, Settled::default(), None);
    }
    let outcome = outcome(env, completion);
    let answer = match &completion.reply {
        Reply::Whole(answered) if !completion.streamed => Some(answered.clone()),
        Reply::Broken | Reply::Whole(_) => None,
    };
    let record = settle_earlier(env, record, now_ms, completion, outcome);
    let settling = Settling {
        attempt: match env.has(Plant::CompletionOfNewest) {
            true => record.view(now_ms).attempts,
            false => completion.attempt,
        },
        reply: reply(completion, outcome),
        storable: answer.is_some(),
        recorded: recorded(completion),
    };
    let (record, settled) = record.settle(now_ms, settling);
    (record, settled, answer)
}

/// Takes the head of an answer that is passed on as it comes.
pub(super) fn begin_streaming(
    env: &Env,
    record: Operation,
    now_ms: u64,
    completion: &Completion,
) -> (Operation, Streaming) {
    let head = Settling {
        attempt: completion.attempt,
        reply: reply(completion, outcome(env, completion)),
        storable: false,
        recorded: recorded(completion),
    };
    record.begin_streaming(now_ms, head)
}

/// What the reply is about, if the origin says that it is not what was sent.
fn recorded(completion: &Completion) -> Option<Fingerprint> {
    match &completion.reply {
        Reply::Broken => None,
        Reply::Whole(answered) => answered.text.as_ref()?.recorded,
    }
}

fn outcome(env: &Env, completion: &Completion) -> Option<Outcome> {
    let Reply::Whole(Answered { http, outcome, .. }) = &completion.reply else {
        return None;
    };
    let believed = env.has(Plant::HeaderlessBelieved) && outcome.is_none();
    let bare = proof::Reply::Answered {
        status: *http,
        outcome: None,
        value: None,
    };
    if env.has(Plant::InProgressIsReleased) && *outcome == Some(Outcome::InProgress) {
        return Some(Outcome::NotExecuted);
    }
    match believed {
        true => Some(judge(Origin::None, &Rules::default(), bare, true)),
        false => *outcome,
    }
}

fn reply(completion: &Completion, outcome: Option<Outcome>) -> proof::Reply<'static> {
    match &completion.reply {
        Reply::Broken => proof::Reply::Lost,
        Reply::Whole(answered) => proof::Reply::Answered {
            status: answered.http,
            outcome: outcome.map(Outcome::as_str),
            value: None,
        },
    }
}

/// The planted bug; otherwise nothing.
fn settle_earlier(
    env: &Env,
    record: Operation,
    now_ms: u64,
    completion: &Completion,
    outcome: Option<Outcome>,
) -> Operation {
    let Reply::Whole(Answered { outcome: said, .. }) = &completion.reply else {
        return record;
    };
    let frees = match said {
        Some(Outcome::InProgress) => env.has(Plant::InProgressIsReleased),
        Some(Outcome::NotExecuted) => env.has(Plant::LaterNotExecutedFrees),
        _ => false,
    };
    if !frees {
        return record;
    }
    (1..completion.attempt).fold(record, |record, attempt| {
        let settling = Settling {
            attempt,
            reply: reply(completion, outcome),
            storable: false,
            recorded: None,
        };
        record.settle(now_ms, settling).0
    })
}

/// An answer that is given again, to a waiter or from the record.
pub(super) fn replayed(answer: &Answered, status: Status) -> Response {
    Response {
        http: answer.http,
        status: Some(match status {
            Status::Executed => Status::Replayed,
            status => status,
        }),
        body: Body::Text(answer.text.clone()),
    }
}

/// Tells the client whose attempt was lost.
pub(crate) fn lost_problem(env: &mut Env, http: u16, view: &View) -> Response {
    let wait_ms = env
        .random
        .between(RETRY_HINT_MS, RETRY_HINT_MS + RETRY_JITTER_MS);
    let problem = Problem::about(Code::OutcomeUnknown, "op_of_a_run", view)
        .retry_after(wait_ms)
        .met_with(http);
    Response::problem(problem, Some(view.state.status()))
}

/// When to send again (rule P2).
pub(super) fn hint_ms(env: &mut Env, now_ms: u64, view: &View) -> u64 {
    let left_ms = view
        .lease_ends_ms
        .map_or(RETRY_HINT_MS, |ends_ms| ends_ms.saturating_sub(now_ms));
    left_ms.min(RETRY_HINT_MS) + env.random.between(0, RETRY_JITTER_MS)
}

/// What storage gives back. A record that does not survive it is a fault of its own.
pub(super) fn reread(env: &Env, record: &Operation) -> Operation {
    let mut stored =
        serde_json::to_value(Stored::from(record.clone())).expect("a record is plain data");
    if env.settings.rows_are_old {
        as_version_1(&mut stored);
    }
    let text = stored.to_string();
    match serde_json::from_str::<Stored>(&text) {
        Ok(read) => read.into_record(),
        other => panic!("the record {text} came back as {other:?}"),
    }
}

/// The row as version 0.1 would have written it.
fn as_version_1(stored: &mut Value) {
    stored["v"] = "1".into();
    stored["disputed"] = (!stored["disputed_ms"].is_null()).into();
    let forget = |value: &mut Value, names: &[&str]| {
        let members = value.as_object_mut().expect("a record is an object");
        names.iter().for_each(|name| drop(members.remove(*name)));
    };
    forget(
        &mut stored["terms"],
        &["route", "settle_after_ms", "finish", "rules"],
    );
    forget(
        stored,
        &["principal", "streamed", "erased", "disputed_ms", "revision"],
    );
}
