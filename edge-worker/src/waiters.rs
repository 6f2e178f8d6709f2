//! Requests that wait for the answer of an attempt that another request started.
//!
//! Invariant: a waiter owns nothing (rule I4). Losing all of this, as an eviction does, costs the
//! waiters their answer and nothing else: they ask again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use futures_channel::oneshot;
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::identity::Identity;
use oncegate_core::outcome::Status;

use crate::answer::Answer;

/// What a waiter hears.
#[derive(Clone)]
pub(crate) enum News {
    /// The answer to this request, the operation's state with it, and for how long it may be given
    /// again without asking.
    Answer(Fingerprint, Rc<Answer>, Status, u64),
    /// The record has changed: read it.
    Record,
}

/// A request that waits, and what it asks for: only that may be answered to it.
struct Waiter {
    fingerprint: Fingerprint,
    sender: oneshot::Sender<News>,
}

/// How many may wait.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) per_operation: usize,
    pub(crate) per_shard: usize,
}

impl Room {
    fn is_in(self, waiting: &Waiting, operation: &Identity) -> bool {
        let here = waiting.get(operation).map_or(0, Vec::len);
        let all: usize = waiting.values().map(Vec::len).sum();
        here < self.per_operation && all < self.per_shard
    }
}

type Waiting = HashMap<Identity, Vec<Waiter>>;

#[derive(Default)]
pub(crate) struct Waiters(RefCell<Waiting>);

impl Waiters {
    /// Waits with the others; `None` if there is no room.
    pub(crate) fn join(
        &self,
        operation: Identity,
        fingerprint: Fingerprint,
        room: Room,
    ) -> Option<oneshot::Receiver<News>> {
        let mut waiting = self.0.borrow_mut();
        if !room.is_in(&waiting, &operation) {
            drop_the_gone(&mut waiting);
            if !room.is_in(&waiting, &operation) {
                return None;
            }
        }
        let (sender, receiver) = oneshot::channel();
        waiting.entry(operation).or_default().push(Waiter {
            fingerprint,
            sender,
        });
        Some(receiver)
    }

    pub(crate) fn tell(&self, operation: &Identity, news: &News) {
        let waiters = self.0.borrow_mut().remove(operation);
        for waiter in waiters.into_iter().flatten() {
            let heard = match news {
                News::Answer(of, ..) if *of != waiter.fingerprint => News::Record,
                news => news.clone(),
            };
            // One that has given up hears nothing, and that is no error.
            let _ = waiter.sender.send(heard);
        }
    }
}

/// Those who have given up make room.
fn drop_the_gone(waiting: &mut Waiting) {
    waiting.retain(|_, waiters| {
        waiters.retain(|waiter| !waiter.sender.is_canceled());
        !waiters.is_empty()
    });
}
