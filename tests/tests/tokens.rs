//! One token, seen whole: whatever is sent, cancelled, answered, purged and waited for, in any order, a
//! token is executed at most once, and nobody is told that another one is safe while it was or can be
//! (rule K2).
//!
//! Why a world of its own is enough: what a token adds is judged where its key has no record, or one that
//! says that it was never used. From its first attempt on, it is decided as a client's key is, which is
//! held here for every state and verb; and what becomes of clients' keys `--test exhaustive` sees whole.

use std::collections::{BTreeSet, VecDeque};

use oncegate_contract::usual;
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{
    Admission, Cancellation, Judged, Operation, Settling, Stored, Terms,
};
use oncegate_core::outcome::Outcome;
use oncegate_core::proof::{Origin, Reply};
use oncegate_core::token::Lifetime;

const TTL_MS: u64 = 300_000;
const KEY_TTL_MS: u64 = 86_400_000;
const ISSUED_MS: u64 = 1_900_000_000_000;

const LIFETIME: Lifetime = Lifetime {
    issued_ms: ISSUED_MS,
    ttl_ms: TTL_MS,
    key_ttl_ms: KEY_TTL_MS,
};

/// When things happen, after a clock that may lag behind the one that issued the token.
const TIMES_MS: [u64; 7] = [
    ISSUED_MS - 60_000,
    ISSUED_MS + TTL_MS - 1_000,
    ISSUED_MS + TTL_MS,
    ISSUED_MS + KEY_TTL_MS - 60_000,
    ISSUED_MS + KEY_TTL_MS,
    ISSUED_MS + KEY_TTL_MS + TTL_MS,
    ISSUED_MS + 3 * KEY_TTL_MS,
];

const MOST_ATTEMPTS: u32 = 2;

#[derive(Clone, Default)]
struct World {
    record: Option<Operation>,
    time: usize,
    effects: u32,
    /// Attempts that may still have their effect.
    open: BTreeSet<u32>,
    told_safe: bool,
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Send,
    Cancel,
    /// The newest attempt is answered so.
    Answer(Outcome),
    /// Nothing comes back from the newest attempt, which may have had its effect.
    Lose(bool),
    Purge,
    Wait,
}

const VERBS: [Verb; 8] = [
    Verb::Send,
    Verb::Cancel,
    Verb::Answer(Outcome::Executed),
    Verb::Answer(Outcome::NotExecuted),
    Verb::Lose(true),
    Verb::Lose(false),
    Verb::Purge,
    Verb::Wait,
];

/// The route as it is configured by the time of the claim.
fn terms(key_ttl_ms: u64) -> Terms {
    Terms {
        result_ttl_ms: 60_000,
        key_ttl_ms,
        ledger_retention_ms: 2 * KEY_TTL_MS,
        ..usual::terms(Origin::None)
    }
}

fn fingerprint() -> Fingerprint {
    usual::fingerprint(1)
}

impl World {
    fn attempts(&self) -> u32 {
        let record = self.record.as_ref();
        record.map_or(0, |record| record.view(self.now_ms()).attempts)
    }

    fn now_ms(&self) -> u64 {
        TIMES_MS[self.time]
    }

    fn after(&self, verb: Verb, route: &Terms) -> Option<Self> {
        let mut next = self.clone();
        match verb {
            Verb::Wait => {
                next.time += 1;
                (next.time < TIMES_MS.len()).then_some(next)
            }
            Verb::Purge => {
                let record = next.record.take()?;
                record.is_expired(self.now_ms()).then_some(next)
            }
            // More attempts have no more to show.
            Verb::Send if self.attempts() == MOST_ATTEMPTS => None,
            Verb::Send => next.with_token(route, Some(fingerprint()), Self::send),
            Verb::Cancel => next.with_token(route, None, Self::cancel),
            Verb::Answer(outcome) => {
                let attempt = next.open.pop_last()?;
                next.effects += u32::from(outcome == Outcome::Executed);
                next.settle(attempt, Some(outcome))
            }
            Verb::Lose(had_effect) => {
                let attempt = next.open.pop_last()?;
                next.effects += u32::from(had_effect);
                next.settle(attempt, None)
            }
        }
    }

    /// As a shard: the record is read, the token judged, and then the verb decides, in one turn.
    fn with_token(
        mut self,
        route: &Terms,
        asked_for: Option<Fingerprint>,
        verb: fn(&mut Self, &Terms),
    ) -> Option<Self> {
        let now_ms = self.now_ms();
        let terms = route.clone().of_token(now_ms, &LIFETIME);
        let record = self.record.as_ref();
        match Operation::judge_token(record, now_ms, &LIFETIME, &terms, None, asked_for) {
            Judged::Good => verb(&mut self, &terms),
            Judged::Forgotten => {}
            Judged::StillUnused => self.hear(),
            Judged::Unused(record) => {
                self.record = Some(*record);
                self.hear();
            }
        }
        Some(self)
    }

    fn send(&mut self, terms: &Terms) {
        let (now_ms, what) = (self.now_ms(), fingerprint());
        let record = self.record.take();
        let (record, admission) =
            Operation::arrive(record, now_ms, KeyKind::Token, terms, None, what);
        if let Admission::Dispatch(attempt) = admission {
            self.open.insert(attempt);
        }
        self.record = Some(record);
        self.hear();
    }

    fn cancel(&mut self, terms: &Terms) {
        let now_ms = self.now_ms();
        let cancelled = Operation::cancel(self.record.clone(), now_ms, KeyKind::Token, terms, None);
        if let Ok((record, Cancellation::Cancelled)) = cancelled {
            self.record = Some(record);
        }
        self.hear();
    }

    fn settle(mut self, attempt: u32, outcome: Option<Outcome>) -> Option<Self> {
        let reply = outcome.map_or(Reply::Lost, |outcome| Reply::Answered {
            status: 200,
            outcome: Some(outcome.as_str()),
            value: None,
        });
        let settling = Settling {
            attempt,
            reply,
            storable: true,
            recorded: None,
        };
        let (record, _) = self.record.take()?.settle(self.now_ms(), settling);
        self.record = Some(record);
        self.hear();
        Some(self)
    }

    /// Somebody is told what the record says.
    fn hear(&mut self) {
        let view = self
            .record
            .as_ref()
            .map(|record| record.view(self.now_ms()));
        self.told_safe |= view.is_some_and(|view| view.safe_new_key);
    }

    fn name(&self) -> String {
        let record = self.record.clone().map(Stored::from);
        let record = serde_json::to_string(&record).expect("a record can be written");
        let Self {
            time,
            effects,
            open,
            told_safe,
            ..
        } = self;
        format!("{time} {effects} {open:?} {told_safe} {record}")
    }
}

/// The record that a client's key would have.
fn of_client(record: &Operation) -> Operation {
    let mut told = serde_json::to_value(Stored::from(record.clone())).expect("it can be written");
    told["kind"] = "client".into();
    let read: Stored = serde_json::from_value(told).expect("it can be read");
    read.into_record()
}

/// Visits every state that can be reached.
fn explore(route: &Terms, mut holds: impl FnMut(&World, Verb)) -> usize {
    let mut seen = BTreeSet::new();
    let mut queue = VecDeque::from([World::default()]);
    while let Some(world) = queue.pop_front() {
        for verb in VERBS {
            let Some(next) = world.after(verb, route) else {
                continue;
            };
            holds(&next, verb);
            if seen.insert(next.name()) {
                queue.push_back(next);
            }
        }
    }
    seen.len()
}

#[test]
fn k2_a_token_is_executed_once_and_called_safe_only_if_it_never_was_and_never_will_be() {
    for configured_ms in [60_000, KEY_TTL_MS, 2 * KEY_TTL_MS] {
        let states = explore(&terms(configured_ms), |world, verb| {
            assert!(world.effects <= 1, "{verb:?}: {}", world.name());
            let may_happen = world.effects > 0 || !world.open.is_empty();
            assert!(
                !world.told_safe || !may_happen,
                "{verb:?}: {}",
                world.name()
            );
        });
        assert!(states > 100, "{states}");
    }
}

#[test]
fn k2_from_its_first_attempt_on_a_token_is_decided_as_a_clients_key_is() {
    let route = terms(KEY_TTL_MS);
    let mut compared = 0;
    explore(&route, |world, _| {
        let now_ms = world.now_ms();
        let tried = world
            .record
            .as_ref()
            .filter(|record| record.view(now_ms).attempts > 0 && !record.is_expired(now_ms));
        let Some(token) = tried else {
            return;
        };
        let client = of_client(token);
        let judged = Operation::judge_token(
            Some(token),
            now_ms,
            &LIFETIME,
            &route,
            None,
            Some(fingerprint()),
        );
        assert_eq!(judged, Judged::Good);
        assert_eq!(token.view(now_ms), client.view(now_ms));
        let arrive = |record: &Operation| {
            let record = Some(record.clone());
            Operation::arrive(record, now_ms, KeyKind::Token, &route, None, fingerprint())
        };
        let ((left, first), (right, second)) = (arrive(token), arrive(&client));
        assert_eq!((of_client(&left), first), (right, second));
        let cancel = |record: &Operation| {
            Operation::cancel(Some(record.clone()), now_ms, KeyKind::Token, &route, None)
        };
        let (left, right) = (cancel(token).unwrap(), cancel(&client).unwrap());
        assert_eq!((of_client(&left.0), left.1), right);
        compared += 1;
    });
    assert!(compared > 100, "{compared}");
}
