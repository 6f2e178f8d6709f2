//! What the gate is asked for, and why.

use super::Why;

/// A call of the shell's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Call {
    Cancel(Purpose),
    Look(Purpose),
    Send,
}

/// Why the gate is asked to look or to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// The application wants it.
    Aim,
    /// Nothing follows it: if it settles nothing, this is how the attempt ends.
    Last(Why),
    /// Whether there is a gate at all: a send that may have been executed is repeated only there.
    Probe,
    /// Another payload has the key.
    Settle,
}
