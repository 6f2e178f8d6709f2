//! Calls the gate's own endpoints, below `/.oncegate/v1`, for programs that share a secret with it.
//!
//! ```no_run
//! # fn main() -> Result<(), oncegate_client::Error> {
//! let gate = oncegate_client::Client::new("https://shop.example", "the secret")?;
//! # let _ = gate;
//! # Ok(()) }
//! ```
//!
//! **Invariant: no answer is never taken for a no.** [`Error::NoAnswer`] says that nothing is known, and
//! [`Error::Refused`] is the gate's own word; a caller can tell them apart.

#![forbid(unsafe_code)]

mod call;
mod claims;
mod client;
mod cron;
mod error;
mod lock;
mod record;

pub use claims::{Claim, Claimed, Claims, Heard, Message};
pub use client::Client;
pub use cron::{Again, Ran};
pub use error::{Error, Problem};
pub use lock::{LockGuard, Locking};
pub use record::{Record, Whose};
