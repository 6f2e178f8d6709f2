//! The origin: a ledger, and the index on what an event is about.

use std::collections::{BTreeMap, BTreeSet};

use oncegate_core::key::KeyKind;
use oncegate_core::ledger::{Decision, Row, State, decide};
use oncegate_core::outcome::Outcome;
use oncegate_core::webhook::Webhook;

use super::WebhookBug;

/// How long a row is kept (rule L9).
const RETENTION_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// What came back from the shop: a status, and its header.
pub(super) type Said = (u16, Option<Outcome>);

/// How an attempt goes that is not answered from a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Executes,
    Fails,
    FailsHonestly,
}

/// A commit that had an effect, or found that of another event.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) event: String,
    pub(super) fact: u64,
    pub(super) had_effect: bool,
}

#[derive(Default)]
pub(super) struct Shop {
    rows: BTreeMap<String, (State, u64)>,
    /// Which event has had the effect of a fact.
    books: BTreeMap<u64, String>,
    busy: BTreeSet<String>,
    pub(super) is_down: bool,
    /// Counts its processes: what an earlier one had begun is rolled back.
    pub(super) process: u64,
    pub(super) refuses: BTreeSet<u64>,
    /// Until when the order of a fact is not there yet.
    pub(super) not_yet: BTreeMap<u64, u64>,
}

impl Shop {
    /// What a request hears at once; `None`: its work begins.
    pub(super) fn get(&mut self, key: &str, now_ms: u64) -> Option<Said> {
        self.rows
            .retain(|_, (_, at_ms)| now_ms < *at_ms + RETENTION_MS);
        if self.busy.contains(key) {
            return Some((409, Some(Outcome::InProgress)));
        }
        let fingerprint = Webhook::fingerprint();
        let rows = self.rows.get(key).map(|(state, _)| Row {
            state: *state,
            fingerprint,
            answer: (),
        });
        match decide(rows.as_slice(), &fingerprint, KeyKind::Generated) {
            Decision::Answer(row) => Some((200, Some(row.state.outcome()))),
            Decision::OtherFingerprint(_) => Some((422, None)),
            Decision::Free => {
                self.busy.insert(key.to_owned());
                None
            }
        }
    }

    /// The work is done: what is said, and what was committed.
    pub(super) fn end(
        &mut self,
        (key, fact): (&str, u64),
        fate: Fate,
        now_ms: u64,
        bug: Option<WebhookBug>,
    ) -> (Said, Option<Commit>) {
        self.busy.remove(key);
        if self.refuses.contains(&fact) {
            self.write(key, State::Refused, now_ms);
            return ((402, Some(Outcome::Refused)), None);
        }
        let is_early = self
            .not_yet
            .get(&fact)
            .is_some_and(|until_ms| now_ms < *until_ms);
        match fate {
            _ if is_early => return ((404, Some(Outcome::NotExecuted)), None),
            Fate::FailsHonestly => return ((503, Some(Outcome::NotExecuted)), None),
            Fate::Fails => return ((500, None), None),
            Fate::Executes => {}
        }
        let first = self.books.entry(fact).or_insert_with(|| key.to_owned());
        let had_effect = first == key || bug == Some(WebhookBug::IndexMissing);
        if bug != Some(WebhookBug::RowAfterEffect) {
            self.write(key, State::Executed, now_ms);
        }
        let commit = Commit {
            event: key.to_owned(),
            fact,
            had_effect,
        };
        ((200, Some(Outcome::Executed)), Some(commit))
    }

    pub(super) fn write(&mut self, key: &str, state: State, now_ms: u64) {
        self.rows.insert(key.to_owned(), (state, now_ms));
    }

    pub(super) fn stop(&mut self) {
        self.busy.clear();
        self.process += 1;
        self.is_down = true;
    }
}
