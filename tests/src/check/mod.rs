//! An exhaustive check of small worlds: every interleaving of everything that can happen, and in every
//! state that can be reached, every sentence of the contract that can be said of a state.
//!
//! **Invariant: nothing is drawn.** A [`Small`] world lists what may happen in it; the explorer takes
//! every step from every state, so that a sentence that holds here holds in all such worlds, not in
//! most. The machines are the real ones ([`oncegate_core::operation`], [`oncegate_core::ledger`],
//! [`oncegate_core::attempt`]); what is written anew here is only what stands between them.
//!
//! Liveness is asked as *from every state in which faults have stopped, a state in which everything is
//! settled can be reached*. Since the calm world is finite, that is the same as: whoever takes its
//! steps fairly gets there.
//!
//! | module | plays |
//! | --- | --- |
//! | `explorer` | takes every step, finds the shortest way to a fault, and asks for the way to rest |
//! | `state` | a state of a small world, as plain numbers |
//! | `machine`, `questions`, `records`, `told` | the real machines, asked once for every question |
//! | `client`, `gate`, `reply`, `time`, `settling`, `origin` | the steps |
//! | `small`, `worlds` | what may happen, and the worlds |

mod client;
pub(crate) mod explorer;
mod gate;
mod machine;
mod origin;
mod questions;
mod records;
mod reply;
mod settling;
mod small;
mod state;
mod time;
mod told;
mod worlds;

pub use explorer::{Explored, Found};
pub use small::{May, Small};
