//! The origin tier of Oncegate: a ledger that makes an effect happen once per key, and the
//! reference shop that uses it.
//!
//! # Map
//!
//! | module | does |
//! | --- | --- |
//! | [`ledger`] | key, effect and stored answer in one transaction (protocol, section 6) |
//! | [`gate`] | an axum service behind the gate: signature, look-up, outcome, probe and cancel |
//! | [`shop`] | the effect: orders, payments, stock |
//! | [`sql`] | the databases, and every SQL statement |
//! | [`server`] | connections, shutdown, and hanging up |
//! | `http` | the shop's routes |
//! | `log` | what the operator hears |
//! | `faults` | switches that break things on purpose, only with `--faults` |
//!
//! # Out of scope
//!
//! Deciding what a key's row means: that is [`oncegate_core::ledger`], shared with the simulator.

pub mod clock;
mod faults;
pub mod gate;
mod http;
pub mod ledger;
mod log;
mod problem;
pub mod server;
pub mod shop;
pub mod sql;
