//! Everything that can happen to one record, as data: a verb at a time, at any time.
//!
//! Nothing is assumed of the world: origins lie, and persons too. What they can do to a record is what
//! is looked at here; whether what is told is true is for the worlds of the simulator.

pub mod rules;

use oncegate_contract::usual::{self, fingerprint};
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{
    Admission, Cancellation, Hearing, Operation, Resolution, Resolved, Settling, Terms, View,
};
use oncegate_core::outcome::Outcome;
use oncegate_core::principal::Principal;
use oncegate_core::proof::{Origin, Reply};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

const OUTCOMES: [Outcome; 5] = [
    Outcome::Cancelled,
    Outcome::Executed,
    Outcome::NotExecuted,
    Outcome::Refused,
    Outcome::Unknown,
];

/// A record at some time.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests look at both")]
pub struct World {
    /// The record, if there is one.
    pub record: Option<Operation>,
    /// The time.
    pub now_ms: u64,
}

impl Default for World {
    /// A key that was never seen.
    fn default() -> Self {
        Self {
            record: None,
            now_ms: 1_000 * DAY_MS,
        }
    }
}

impl World {
    /// How many attempts have begun.
    pub fn attempts(&self) -> u32 {
        let record = self.record.as_ref();
        record.map_or(0, |record| record.view(self.now_ms).attempts)
    }
}

/// What can happen to it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "tests make each of them")]
pub enum Verb {
    /// A request of Alice or Bob with one of two cards.
    Arrive(Person, usize),
    /// Alice cancels.
    Cancel,
    /// The content is erased.
    Erase,
    /// What a ledger said to a cancellation that was asked for at this attempt.
    Hear(u32, Outcome),
    /// What an origin said to a question that was asked at this attempt.
    Probe(u32, Outcome),
    /// The gate sends it again.
    Redispatch,
    /// A person settles it.
    Resolve(Resolved),
    /// The reply to an attempt.
    Settle(u32, Outcome),
    /// The head of a long answer to an attempt.
    Stream(u32, Outcome),
    /// Time passes, in milliseconds.
    Wait(u64),
}

/// Who sends a request.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "tests name both")]
pub enum Person {
    /// The one who cancels, too.
    Alice,
    /// Somebody else.
    Bob,
}

/// The route and the key, the same for all verbs of a world.
#[derive(Debug)]
pub struct Setting {
    kind: KeyKind,
    terms: Terms,
    alice: Option<Principal>,
    bob: Option<Principal>,
    cards: [Fingerprint; 2],
}

impl Setting {
    /// A route that finishes, at such an origin, with such keys.
    pub fn new(origin: Origin, kind: KeyKind) -> Self {
        let terms = Terms {
            ledger_retention_ms: 14 * DAY_MS,
            finish: true,
            ..usual::terms(origin)
        };
        Self {
            kind,
            terms,
            alice: person("alice"),
            bob: person("bob"),
            cards: [1, 2].map(fingerprint),
        }
    }

    /// What a verb does to a record.
    pub fn change<'a>(&'a self, before: &'a World, verb: Verb) -> Change<'a> {
        let (after, admission) = self.apply(before, verb);
        Change {
            setting: self,
            before,
            after,
            verb,
            admission,
        }
    }

    fn apply(&self, world: &World, verb: Verb) -> (World, Option<Admission>) {
        let now_ms = world.now_ms;
        let (kind, terms, alice) = (self.kind, &self.terms, self.alice);
        let before = world.record.clone();
        let kept = before.clone();
        let mut admission = None;
        let record = match (verb, before) {
            (Verb::Arrive(who, card), before) => {
                let who = match who {
                    Person::Alice => alice,
                    Person::Bob => self.bob,
                };
                let what = self.cards[card];
                let (record, told) = Operation::arrive(before, now_ms, kind, terms, who, what);
                admission = Some(told);
                matches!(told, Admission::Dispatch(_)).then_some(record)
            }
            (Verb::Cancel, before) => match Operation::cancel(before, now_ms, kind, terms, alice) {
                Ok((record, Cancellation::Cancelled)) => Some(record),
                _ => None,
            },
            (Verb::Hear(attempt, said), before) => {
                let heard = hearing(attempt, said, now_ms);
                Operation::hear(before, now_ms, kind, terms, alice, heard).map(|(record, _)| record)
            }
            (Verb::Wait(_), _) | (_, None) => None,
            (Verb::Erase, Some(record)) => record.erase(now_ms).ok(),
            (Verb::Probe(attempt, said), Some(record)) => record
                .answered_probe(now_ms, hearing(attempt, said, now_ms))
                .map(|(record, _)| record),
            (Verb::Redispatch, Some(record)) => record.redispatch(now_ms).map(|(record, _)| record),
            (Verb::Resolve(outcome), Some(record)) => {
                let revision = record.view(now_ms).revision;
                record
                    .resolve(now_ms, Resolution { revision, outcome })
                    .ok()
            }
            (Verb::Settle(attempt, said), Some(record)) => {
                let (record, settled) = record.settle(now_ms, settling(attempt, said));
                settled.changed.then_some(record)
            }
            (Verb::Stream(attempt, said), Some(record)) => {
                let (record, begun) = record.begin_streaming(now_ms, settling(attempt, said));
                begun.changed.then_some(record)
            }
        };
        let waited_ms = match verb {
            Verb::Wait(waited_ms) => waited_ms,
            _ => 0,
        };
        let world = World {
            record: record.or(kept),
            now_ms: now_ms + waited_ms,
        };
        (world, admission)
    }
}

fn person(name: &str) -> Option<Principal> {
    Some(Principal::of(b"secret", "shop.example", name))
}

fn hearing(asked_attempt: u32, said: Outcome, asked_ms: u64) -> Hearing {
    Hearing {
        asked_attempt,
        asked_ms,
        said,
        storable: true,
        recorded: None,
    }
}

fn settling(attempt: u32, said: Outcome) -> Settling<'static> {
    Settling {
        attempt,
        reply: Reply::Answered {
            status: 200,
            outcome: Some(said.as_str()),
            value: None,
        },
        storable: true,
        recorded: None,
    }
}

/// The verbs that can make a difference to a record with so many attempts.
pub fn verbs(attempts: u32) -> Vec<Verb> {
    let mut verbs = vec![
        Verb::Arrive(Person::Alice, 0),
        Verb::Arrive(Person::Alice, 1),
        Verb::Arrive(Person::Bob, 0),
        Verb::Cancel,
        Verb::Erase,
        Verb::Redispatch,
        Verb::Stream(attempts, Outcome::Executed),
        Verb::Wait(MINUTE_MS),
        Verb::Wait(16 * MINUTE_MS),
        Verb::Wait(8 * DAY_MS),
    ];
    for outcome in OUTCOMES {
        verbs.extend((1..=attempts).map(|attempt| Verb::Settle(attempt, outcome)));
        // A word that says nothing is the same, however it was asked for.
        if outcome != Outcome::Unknown {
            verbs.push(Verb::Hear(attempts, outcome));
            verbs.push(Verb::Probe(attempts, outcome));
        }
    }
    // Two kinds of questions that were asked before the newest attempt began.
    if let Some(earlier) = attempts.checked_sub(1) {
        verbs.push(Verb::Hear(earlier, Outcome::Refused));
        verbs.push(Verb::Probe(earlier, Outcome::NotExecuted));
    }
    for resolved in [
        Resolved::Cancelled,
        Resolved::Executed,
        Resolved::NotExecuted,
        Resolved::Refused,
    ] {
        verbs.push(Verb::Resolve(resolved));
    }
    verbs
}

/// A change of a record.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests look at all of it")]
pub struct Change<'a> {
    /// Route and key.
    pub setting: &'a Setting,
    /// What was.
    pub before: &'a World,
    /// What is.
    pub after: World,
    /// What happened.
    pub verb: Verb,
    /// What a request that arrived was told.
    pub admission: Option<Admission>,
}

impl Change<'_> {
    /// What is told before and after; nothing of what counts as absent.
    fn views(&self) -> (Option<View>, Option<View>) {
        (
            view(self.before, self.before.now_ms),
            view(&self.after, self.before.now_ms),
        )
    }

    fn changed(&self) -> bool {
        self.before.record != self.after.record
    }
}

fn view(world: &World, now_ms: u64) -> Option<View> {
    let record = world.record.as_ref()?;
    (!record.is_expired(now_ms)).then(|| record.view(now_ms))
}
