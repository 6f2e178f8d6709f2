//! A seeded simulation of everything between a customer and the shop's money.
//!
//! **Invariant: a seed is a run.** Time is virtual, there is one thread and one source of randomness,
//! and events happen in the order of their time and then of their making. Whatever a seed shows, it
//! shows again.
//!
//! The machines are the real ones: [`oncegate_core::attempt::flow`] in every browser tab,
//! [`oncegate_core::operation`] in the shard, [`oncegate_core::ledger`] in the origin. What the shells
//! do around them (store, send, wait, wake) is modelled here after `sdk/js/run.js`,
//! `edge-worker/src/shard`, `edge-worker/src/courier` and `origin/src/ledger`. A
//! [`Witness`] sees the effects and everything that is said about them, and compares.
//!
//! | module | plays |
//! | --- | --- |
//! | `browser` | customers, their tabs and what they store |
//! | `network` | both hops: loss, copies, delay, answers that break off |
//! | `shard` | the objects that decide, and what they lose when they are replaced; the alarm; support |
//! | `courier` | one attempt on its way to the origin, and its completion |
//! | `origin` | the ledger over rows and transactions that interleave; the origin without one |
//! | `world` | draws a world from a seed |
//! | `story` | tells a world in prose |
//! | `check` | small worlds, seen whole |
//! | `drawn` | what is asked of worlds that are drawn from a seed |
//! | `explore` | every state of a small world |
//! | `claims` | a message and those who want to work on it, seen whole |
//! | `locks` | programs that take one lock in turn; and two or three of them, seen whole |
//! | `tabs` | two tabs of one browser, seen whole |
//! | `webhooks` | a service that sends events, and a shop that does what they say |
//!
//! [`verbs`] needs no world: it is what can happen to one record.

mod browser;
pub mod check;
pub mod claims;
mod courier;
pub mod drawn;
mod env;
mod explore;
mod faults;
pub mod locks;
mod model;
mod network;
mod origin;
mod plant;
mod queue;
mod random;
mod shard;
mod simulation;
mod story;
pub mod tabs;
pub mod verbs;
pub mod webhooks;
mod witness;
mod world;

pub use faults::{Chaos, Faults, Hop, Rates};
pub use model::{Card, DECLINED};
pub use origin::{Business, Ending, Fate};
pub use plant::Plant;
pub use random::Random;
pub use simulation::{Failure, Settings, Simulation, Summary};
pub use story::{Story, Told};
pub use witness::{Oracle, Violation, Witness};
pub use world::World;
