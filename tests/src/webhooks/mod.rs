//! A seeded simulation of webhooks: a service that sends its events until they are taken, a network that
//! loses, doubles, delays and is cut, forgers and old copies, a gate that is replaced, a queue that
//! delivers at least once, and a shop that fails, is late and stops.
//!
//! **Invariant: a seed is a run**, as in the rest of this crate. Who sends, which event it is, what is
//! claimed, what the ledger says, what becomes of a message and in which words an event is acknowledged
//! are the real machines' to say ([`oncegate_core::webhook`], [`oncegate_core::operation`],
//! [`oncegate_core::ledger`], [`oncegate_core::queue`]); what stands between them is modelled after
//! `edge-worker/src/webhook`, `edge-worker/src/queues` and `edge-worker/src/shard`.
//!
//! | module | plays |
//! | --- | --- |
//! | `sender` | a service, and what it signs; and who verifies that |
//! | `gate` | the route, its records and who waits for an answer |
//! | `shelf` | the queue, and its dead letters |
//! | `shop` | the ledger, and the index on what an event is about |
//! | `judge` | the sentences that must hold |
//! | `world` | draws a world from a seed, and lets it happen |

mod gate;
mod judge;
mod sender;
mod shelf;
mod shop;
mod world;

use crate::drawn::Failed;

/// What every run is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests name each of them")]
pub enum WebhookOracle {
    /// What is acknowledged was executed, or lies in the queue.
    AcknowledgedIsKept,
    /// Nothing is done for what its sender has not sent.
    NothingForged,
    /// An event is executed once, however often and however late it comes.
    OnceAnEvent,
    /// Two events about one fact have one effect.
    OnceAFact,
    /// After the faults, every event that the shop does not refuse is executed, and its sender knows.
    NeverLost,
    /// What the shop has refused for good is never acknowledged; and nobody is told *gone*.
    SaidAsItIs,
}

/// A bug planted on purpose, of the kind that a shell or an operator could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests name each of them")]
pub enum WebhookBug {
    /// An event is acknowledged when its attempt begins.
    AcknowledgedOnArrival,
    /// An event is acknowledged though the queue did not take it.
    AcknowledgedUnstored,
    /// What failed too often leaves the queue for good.
    DeadLettersDropped,
    /// The shop has no index on what an event is about.
    IndexMissing,
    /// Each delivery is an event of its own.
    KeyOfDelivery,
    /// A message of which nothing is proved leaves the queue.
    QueueDropsUnproved,
    /// A refusal is acknowledged.
    RefusalAcknowledged,
    /// A sender's own repetition is too old.
    RepetitionTooOld,
    /// The shop commits its row after the effect.
    RowAfterEffect,
    /// Signatures are not looked at.
    SignatureIgnored,
    /// The time of a signature is not looked at.
    TimeIgnored,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct WebhookSummary {
    /// How many deliveries arrived at the gate.
    pub deliveries: u64,
    /// How many were not believed.
    pub refused: u64,
    /// How many attempts arrived at the shop.
    pub attempts: u64,
    /// How many effects there were.
    pub effects: u64,
    /// How many messages died.
    pub dead: u64,
}

/// Runs the world of a seed.
///
/// # Errors
/// The sentence that did not hold.
pub fn run(seed: u64, bug: Option<WebhookBug>) -> Result<WebhookSummary, Failed<WebhookOracle>> {
    world::World::new(seed, bug).run()
}
