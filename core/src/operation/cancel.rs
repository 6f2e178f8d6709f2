//! Cancelling: making sure that nothing will happen under a key (section 7, rule L6).
//!
//! Invariant: a record is *cancelled* only where nothing can happen any more: a ledger holds the
//! cancelled row, or no attempt was ever made or each is settled as not executed. Who is told
//! *cancelled* may take a new key.

use super::record::Operation;
use super::vocabulary::{Cancellation, Hearing, Inquiry, State, Terms};
use crate::key::KeyKind;
use crate::outcome::Outcome;
use crate::proof::Origin;

impl Operation {
    /// Takes in a request to cancel a key that has this record, or none. If the cancellation is
    /// [`Decided`](Cancellation::Decided), the record must be stored.
    pub fn cancel(
        record: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: Terms,
    ) -> (Self, Cancellation) {
        let mut record = Self::known(record, now_ms, kind, terms);
        let now_ms = record.advance(now_ms);
        if record.state.is_closed() {
            return (record, Cancellation::Decided);
        }
        if record.may_ask(now_ms) {
            let inquiry = Inquiry {
                attempt: record.attempt,
                fingerprint: record.fingerprint,
            };
            return (record, Cancellation::Ask(inquiry));
        }
        if record.state == State::Released && record.terms.origin != Origin::Ledger {
            record.close(now_ms, State::Cancelled);
        }
        (record, Cancellation::Decided)
    }

    /// Takes what a ledger said to a cancellation. `None`: it said nothing that counts, and the record
    /// is as it was. Otherwise the record must be stored, with the answer if the second value says so.
    pub fn hear(
        record: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: Terms,
        hearing: Hearing,
    ) -> Option<(Self, bool)> {
        let mut record = Self::known(record, now_ms, kind, terms);
        let now_ms = record.advance(now_ms);
        let closed = record.state.is_closed();
        match hearing.said {
            Outcome::Executed if closed => {
                record.disputed |= record.state != State::Executed;
                return Some((record, false));
            }
            // A refusal may be of an attempt before the newest one, which may still execute.
            Outcome::Refused if closed || record.attempt != hearing.asked_attempt => return None,
            Outcome::Cancelled if closed => return None,
            Outcome::Executed | Outcome::Refused | Outcome::Cancelled => {
                record.apply(now_ms, hearing.asked_attempt, hearing.said);
            }
            Outcome::InProgress | Outcome::NotExecuted | Outcome::Unknown => return None,
        }
        let store = record.keeps_answer(hearing.storable, hearing.recorded);
        Some((record, store))
    }

    fn known(record: Option<Self>, now_ms: u64, kind: KeyKind, terms: Terms) -> Self {
        match record {
            Some(record) if !record.is_expired(now_ms) => record,
            expired => Self::renew(expired, now_ms, kind, terms),
        }
    }
}
