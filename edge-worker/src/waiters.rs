//! Requests that wait for the answer of an attempt that another request started.
//!
//! Invariant: a waiter owns nothing (rule I4). Losing all of this, as an eviction does, costs the
//! waiters their answer and nothing else: they ask again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use futures_channel::oneshot;
use oncegate_core::identity::Identity;
use oncegate_core::outcome::Status;

use crate::answer::Answer;

/// What a waiter hears.
#[derive(Clone)]
pub(crate) enum News {
    /// The attempt's answer, and the operation's state with it.
    Answer(Rc<Answer>, Status),
    /// The record has changed: read it.
    Record,
}

#[derive(Default)]
pub(crate) struct Waiters(RefCell<HashMap<Identity, Vec<oneshot::Sender<News>>>>);

impl Waiters {
    pub(crate) fn join(&self, operation: Identity) -> oneshot::Receiver<News> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.0.borrow_mut();
        let senders = waiting.entry(operation).or_default();
        senders.retain(|sender| !sender.is_canceled());
        senders.push(sender);
        receiver
    }

    pub(crate) fn tell(&self, operation: &Identity, news: &News) {
        let senders = self.0.borrow_mut().remove(operation);
        for sender in senders.into_iter().flatten() {
            // One that has given up hears nothing, and that is no error.
            let _ = sender.send(news.clone());
        }
    }
}
