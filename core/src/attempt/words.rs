//! What an attempt is told, and what it tells its shell.

use super::answer::Answer;
use super::end::End;

/// The limits of one attempt to get an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a limit left out must be a compile error"
)]
pub struct Config {
    /// The first wait is at most this long.
    pub base_ms: u64,
    /// No wait that the client chooses is longer.
    pub cap_ms: u64,
    /// How long one call may take, the answer's body included.
    pub attempt_timeout_ms: u64,
    /// How long all calls and waits may take together.
    pub deadline_ms: u64,
    /// How many calls there are at most. The first one is always made, and one that only makes sure
    /// that nothing is executed is not counted.
    pub max_sends: u32,
}

/// What an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "what a client can want of a key")]
pub enum Aim {
    /// The operation shall not happen.
    Cancel,
    /// To know what became of the operation.
    LookUp,
    /// To have this payload executed, although another one was sent under the key.
    Replace,
    /// To have the operation executed.
    Submit,
}

/// What the shell does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an action that a shell does not know must be a compile error"
)]
pub enum Action {
    /// Ask the gate to cancel the key of the last send, and report what came of it. An answer about
    /// another operation must not be reported as this one's.
    Cancel {
        /// As for a send.
        timeout_ms: u64,
    },
    /// Ask the gate what became of the key, and report what came of it.
    Look {
        /// As for a send.
        timeout_ms: u64,
    },
    /// Send the request and report what came of it.
    Send {
        /// Counts the calls of this attempt from 1.
        number: u32,
        /// Report [`Event::TimedOut`] when the answer's last byte is not there by then.
        timeout_ms: u64,
        /// The key to send it under.
        key: KeyChoice,
    },
    /// Report [`Event::WaitOver`] at that time.
    Wait {
        /// On the clock of `now_ms`.
        until_ms: u64,
        /// Report [`Event::Online`] if the device is online again before.
        online: bool,
    },
    /// Nothing: this is the result.
    Finish(End),
}

/// The key of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third choice")]
pub enum KeyChoice {
    /// The key of the next epoch: raise the epoch, durably, and then send.
    Next,
    /// The key of the send before, or the intent's key if there was none.
    Same,
}

/// What happened to the last action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "shells construct it")]
pub enum Event {
    /// The user gave up.
    Aborted,
    /// The answer arrived completely.
    Answered(Answer),
    /// The application wants the operation cancelled. The call that is open, if there is one, is left
    /// alone: its answer must not be reported.
    CancelWanted,
    /// The call was not made, because the key's lifetime is nearly over (rule T3).
    KeyTooOld,
    /// No answer, or a part of one: the request may have been executed all the same.
    NetworkError,
    /// As [`NetworkError`](Self::NetworkError), and the device knows that it is offline.
    Offline,
    /// The device is online again.
    Online,
    /// The call's time is over.
    TimedOut,
    /// The wait's time is over.
    WaitOver,
}
