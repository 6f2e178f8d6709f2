//! The life of an operation at the edge (section 2 of the contract).
//!
//! ```text
//!  absent ──claim = dispatch record──▶ dispatched ──proof──▶ executed | refused | cancelled | released
//!    ▲                                   │    ▲
//!    │                                   │    └── new attempt (released; unknown at a ledger origin;
//!    │                                   │        refused under a generated key)
//!    └── key ttl, settled records only   └─ lease over, attempt lost ─▶ unknown ── late proof, ledger, probe, operator ──▶ settled
//! ```
//!
//! Invariants: at most one attempt is open by the gate's own choice, except a redispatch to a ledger
//! origin (I1); a reply settles the attempt it belongs to, once, however late (I3); *released* and
//! *refused* are said only when no attempt is unsettled (I7); unknown never expires (I5).
//! Atomicity comes from the caller: between reading a record and writing it back it does not await.

mod admit;
mod attempts;
mod cancel;
mod lease;
mod operator;
mod pace;
mod record;
mod settle;
mod steps;
mod stored;
mod token;
mod vocabulary;

pub use self::pace::{Pace, retry_after_ms};
pub use self::record::Operation;
pub use self::stored::Stored;
pub use self::token::Judged;
pub use self::vocabulary::{
    Admission, Cancellation, Hearing, Inquiry, NotSettled, Resolution, ResolveError, Resolved,
    Settled, Settling, State, Step, Streaming, Terms, Trouble, TroubleState, Turn, View,
};

#[cfg(test)]
mod tests;
