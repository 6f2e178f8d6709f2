//! The origin tier of Oncegate: a ledger that makes an effect happen once per key, and the
//! reference shop that uses it.
//!
//! # Map
//!
//! | module | does |
//! | --- | --- |
//! | [`ledger`] | key, effect and stored answer in one transaction (protocol, section 6) |
//! | [`shop`] | the effect: orders, payments, stock |
//! | [`sql`] | every SQL statement; the seam for a second database |
//! | [`server`] | connections, shutdown, and hanging up |
//! | `http` | routes, the gate's signature, answers |
//! | `log` | what the operator hears |
//! | `faults` | switches that break things on purpose, only with `--faults` |
//!
//! # Out of scope
//!
//! Deciding what a key's row means: that is [`oncegate_core::ledger`], shared with the simulator.

pub mod clock;
mod faults;
mod http;
pub mod ledger;
mod log;
mod problem;
pub mod server;
pub mod shop;
pub mod sql;
