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
    /// The answer to this request, and the operation's state with it.
    Answer(Fingerprint, Rc<Answer>, Status),
    /// The record has changed: read it.
    Record,
}

/// A request that waits, and what it asks for: only that may be answered to it.
struct Waiter {
    fingerprint: Fingerprint,
    sender: oneshot::Sender<News>,
}

#[derive(Default)]
pub(crate) struct Waiters(RefCell<HashMap<Identity, Vec<Waiter>>>);

impl Waiters {
    pub(crate) fn join(
        &self,
        operation: Identity,
        fingerprint: Fingerprint,
    ) -> oneshot::Receiver<News> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.0.borrow_mut();
        let waiters = waiting.entry(operation).or_default();
        waiters.retain(|waiter| !waiter.sender.is_canceled());
        waiters.push(Waiter {
            fingerprint,
            sender,
        });
        receiver
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
