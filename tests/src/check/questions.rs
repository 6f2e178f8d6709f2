//! What the machines can be asked, and what they answered before.
//!
//! Invariant: the same question has the same answer, so that it is put once.

use std::cell::RefCell;
use std::hash::Hash;

use oncegate_core::operation::{Admission, View};

use super::explorer::Table;
use super::state::Inquiry;
use super::told::Told;

/// What a request comes to.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) record: u32,
    pub(super) admission: Admission,
    /// What the client hears, if he is answered from the record.
    pub(super) told: Told,
}

/// What a request to cancel comes to, if the key is the caller's.
#[derive(Clone, Copy)]
pub(super) enum Cancelled {
    Ask(Inquiry),
    Decided(u32),
}

/// What the gate does by itself.
#[derive(Clone, Copy)]
pub(super) enum Own {
    Ask(Inquiry),
    /// The record, and the attempt's number.
    Redispatch(u32, u8),
    Rest,
}

/// What a person finds out, and makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Found {
    Cancelled,
    Executed,
    NotExecuted,
}

/// What a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resolve {
    pub(super) outcome: Found,
    /// The record has changed since the person saw it.
    pub(super) changed: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Viewed {
    pub(super) view: View,
    pub(super) is_expired: bool,
    /// The card that was asked for last.
    pub(super) card: Option<u8>,
}

/// What was answered before to a question.
pub(super) struct Memo<Q, A>(RefCell<Table<Q, A>>);

impl<Q: Copy + Eq + Hash, A: Copy> Memo<Q, A> {
    pub(super) fn new() -> Self {
        Self(RefCell::default())
    }

    pub(super) fn get(&self, question: Q, ask: impl FnOnce() -> A) -> A {
        if let Some(answer) = self.0.borrow().get(&question) {
            return *answer;
        }
        let answer = ask();
        self.0.borrow_mut().insert(question, answer);
        answer
    }
}
