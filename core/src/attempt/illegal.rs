//! What a shell reports that it must not.

use core::fmt;

use super::State;
use super::call::Call;
use super::words::Event;

/// The shell reported an event that cannot follow its last action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalEvent {
    pub(super) state: State,
    pub(super) event: Event,
}

impl fmt::Display for IllegalEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = match self.event {
            Event::Aborted => "an abort",
            Event::Answered(_) => "an answer",
            Event::CancelWanted => "the wish to cancel",
            Event::KeyTooOld => "a key that is too old",
            Event::NetworkError | Event::Offline => "a network error",
            Event::Online => "the return of the network",
            Event::TimedOut => "a timeout",
            Event::WaitOver => "the end of a wait",
        };
        let action = match self.state {
            State::Finished => "has finished; start a new one",
            State::Calling(Call::Cancel(_)) => {
                "is cancelling; report what came of the cancellation first"
            }
            State::Calling(Call::Look(_)) => "is looking; report what came of the look-up first",
            State::Calling(Call::Send) => "is sending; report what came of the send first",
            State::Waiting { .. } => "is waiting; report the end of the wait first",
        };
        write!(f, "{event} was reported to an attempt that {action}")
    }
}

impl core::error::Error for IllegalEvent {}
