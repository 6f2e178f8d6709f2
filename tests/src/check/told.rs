//! An answer, as its reader understands it: the machine of the SDK says what it means.
//!
//! Invariant: an answer is written and read as the shells write and read it.

use oncegate_core::attempt::{Action, Aim, Attempt, Config, End, Event, KeyChoice};
use oncegate_core::operation::State;
use oncegate_core::outcome::Status;

use super::state::Word;
use crate::model::{Body, Response};

/// An answer, as its reader understands it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) verdict: Verdict,
    /// It says that there is none.
    pub(super) failed: bool,
    /// It says that a new key is safe.
    pub(super) safe: bool,
}

/// What a client does next, after the machine of the SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Again,
    Cancel,
    Done,
    Failed,
    NextKey,
}
/// The origin's answer, with the gate's word about the operation.
pub(super) fn passed(word: Word, status: Status) -> Told {
    let response = Response {
        http: word.http(),
        status: Some(status),
        body: Body::Text(None),
    };
    understood(&response, word)
}

pub(super) fn replayed(state: State) -> Told {
    let status = match state {
        State::Executed => Status::Replayed,
        state => state.status(),
    };
    let response = Response {
        http: 200,
        status: Some(status),
        body: Body::Text(None),
    };
    understood(&response, Word::Lost)
}

/// What the SDK's machine makes of an answer to its first send.
pub(super) fn understood(response: &Response, word: Word) -> Told {
    let mut answer = response.as_answer();
    answer.problem.key_reused |= word.recorded().is_some();
    let config = Config {
        base_ms: 1,
        cap_ms: 1,
        attempt_timeout_ms: 1_000,
        deadline_ms: 100_000,
        max_sends: 10,
    };
    let (machine, _) = Attempt::start(0, config, Aim::Submit, true, 0);
    let action = machine.handle(1, Event::Answered(answer));
    let (_, action) = action.expect("the first action is a send");
    let verdict = match action {
        Action::Cancel { .. } => Verdict::Cancel,
        Action::Finish(End::Done { .. }) => Verdict::Done,
        Action::Finish(End::Failed(_)) => Verdict::Failed,
        Action::Send {
            key: KeyChoice::Next,
            ..
        } => Verdict::NextKey,
        Action::Finish(End::Unknown(_))
        | Action::Look { .. }
        | Action::Send { .. }
        | Action::Wait { .. } => Verdict::Again,
    };
    Told {
        verdict,
        failed: verdict == Verdict::Failed
            || matches!(response.status, Some(Status::Refused | Status::Cancelled)),
        safe: answer.problem.safe_new_key,
    }
}
