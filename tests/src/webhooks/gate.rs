//! The route: its records, and who waits for what becomes of an event.
//!
//! Invariant: between reading a record and writing it back nothing else happens. Rows survive an
//! eviction; who waits does not.

use std::collections::BTreeMap;

use oncegate_core::key::KeyKind;
use oncegate_core::operation::{Admission, Operation, Settling, State, Stored, Terms};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::proof::{Origin, Reply};
use oncegate_core::webhook::Webhook;

use super::shop::Said;
use crate::simulation;

/// Between an event's name and the delivery, for the bug that takes each for an event.
const SEPARATOR: char = '#';

/// What is to be done for an event.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) key: String,
    pub(super) fact: u64,
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Caller {
    /// A message, and how often it was handed out by then.
    Message(u64, u32),
    /// The sender, by the event and the call.
    Sender(usize, u64),
}

/// What a caller is answered.
pub(super) struct Answer {
    pub(super) caller: Caller,
    pub(super) state: Status,
    pub(super) http: u16,
}

#[derive(Default)]
pub(super) struct Gate {
    rows: BTreeMap<String, Operation>,
    waiting: BTreeMap<Caller, String>,
}

/// What becomes of a request.
pub(super) enum Turn {
    Answered(Answer),
    Dispatched(u32),
    Waits,
}

impl Job {
    pub(super) fn of_delivery(mut self, call: u64) -> Self {
        self.key = format!("{}{SEPARATOR}{call}", self.key);
        self
    }

    pub(super) fn event(&self) -> &str {
        event_of(&self.key)
    }
}

pub(super) fn event_of(key: &str) -> &str {
    key.split(SEPARATOR).next().unwrap_or_default()
}

impl Gate {
    pub(super) fn claim(&mut self, caller: Caller, key: &str, now_ms: u64) -> Turn {
        let record = self.rows.get(key).cloned();
        let fingerprint = Webhook::fingerprint();
        let kind = KeyKind::Generated;
        let (record, admission) =
            Operation::arrive(record, now_ms, kind, &terms(), None, fingerprint);
        let state = told(&record, now_ms);
        match admission {
            Admission::Dispatch(attempt) => {
                self.rows.insert(key.to_owned(), record);
                self.waiting.insert(caller, key.to_owned());
                Turn::Dispatched(attempt)
            }
            Admission::Wait { .. } => {
                self.waiting.insert(caller, key.to_owned());
                Turn::Waits
            }
            Admission::Replay | Admission::Turn(_) => Turn::Answered(Answer {
                caller,
                state,
                http: if state == Status::Replayed { 200 } else { 409 },
            }),
        }
    }

    /// The time of a caller is over: it is answered from the record.
    pub(super) fn give_up(&mut self, caller: Caller, now_ms: u64) -> Option<Answer> {
        let key = self.waiting.remove(&caller)?;
        let record = self.rows.get(&key)?;
        Some(Answer {
            caller,
            state: told(record, now_ms),
            http: 409,
        })
    }

    /// A courier tells what an attempt came to; gives those who hear of it.
    pub(super) fn settle(
        &mut self,
        key: &str,
        attempt: u32,
        said: Option<Said>,
        now_ms: u64,
    ) -> Vec<Answer> {
        let Some(record) = self.rows.remove(key) else {
            return Vec::new();
        };
        let reply = said.map_or(Reply::Lost, |(status, outcome)| Reply::Answered {
            status,
            outcome: outcome.map(Outcome::as_str),
            value: None,
        });
        let settling = Settling {
            attempt,
            reply,
            storable: said.is_some(),
            recorded: None,
        };
        let (record, _) = record.settle(now_ms, settling);
        let state = record.view(now_ms).state;
        self.rows.insert(key.to_owned(), record);
        if state == State::Dispatched {
            return Vec::new();
        }
        let http = said.map_or(502, |(status, _)| status);
        let waiting = self.waiting.iter().filter(|(_, waits)| *waits == key);
        let answers = waiting.map(|(caller, _)| Answer {
            caller: *caller,
            state: state.status(),
            http,
        });
        let answers: Vec<_> = answers.collect();
        self.waiting.retain(|_, waits| waits != key);
        answers
    }

    /// Its objects are replaced: rows come back from storage, and who waited hears nothing.
    pub(super) fn evict(&mut self) {
        self.waiting.clear();
        for record in self.rows.values_mut() {
            let text = serde_json::to_string(&Stored::from(record.clone()));
            let text = text.expect("a record can be written");
            let read: Stored = serde_json::from_str(&text).expect("a record can be read");
            *record = read.into_record();
        }
    }
}

/// What `Idempotency-Status` says to who comes later.
fn told(record: &Operation, now_ms: u64) -> Status {
    match record.view(now_ms).state.status() {
        Status::Executed => Status::Replayed,
        state => state,
    }
}

fn terms() -> Terms {
    Terms {
        route: "hooks".into(),
        ..simulation::Settings::new(Origin::Ledger, KeyKind::Client).terms
    }
}
