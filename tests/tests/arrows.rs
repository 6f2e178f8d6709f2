//! Every record that a few verbs in any order can make: each change is an arrow of the contract's
//! diagram, and the invariants of section 2 hold in every one of them.
//!
//! Nothing is assumed of the world: origins lie, and persons too. What they can do to a record is what
//! is looked at here; whether what is told is true is for the worlds of the simulator.

use std::collections::HashSet;

use oncegate_core::fingerprint::{Fingerprint, Parts};
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{
    Admission, Cancellation, Hearing, Operation, Resolution, Resolved, Settling, State, Step,
    Stored, Terms, Turn, View,
};
use oncegate_core::outcome::Outcome;
use oncegate_core::principal::Principal;
use oncegate_core::proof::{Origin, Reply, Rules};

const DEPTH: usize = 4;
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
#[derive(Clone)]
struct World {
    record: Option<Operation>,
    now_ms: u64,
}

/// What can happen to it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    Arrive(&'static str, usize),
    Cancel,
    Erase,
    Hear(u32, Outcome),
    Probe(u32, Outcome),
    Redispatch,
    Resolve(Resolved),
    Settle(u32, Outcome),
    Stream(u32, Outcome),
    Wait(u64),
}

/// The route and the key, the same for all verbs of a world.
struct Setting {
    kind: KeyKind,
    terms: Terms,
    alice: Option<Principal>,
    bob: Option<Principal>,
    cards: [Fingerprint; 2],
}

impl Setting {
    fn new(origin: Origin, kind: KeyKind) -> Self {
        let terms = Terms {
            route: "orders".into(),
            origin,
            lease_ms: MINUTE_MS / 2,
            result_ttl_ms: DAY_MS,
            key_ttl_ms: 7 * DAY_MS,
            ledger_retention_ms: 14 * DAY_MS,
            settle_after_ms: 15 * MINUTE_MS,
            finish: true,
            rules: Rules::default(),
        };
        Self {
            kind,
            terms,
            alice: person("alice"),
            bob: person("bob"),
            cards: [1, 2].map(fingerprint),
        }
    }

    fn apply(&self, world: &World, verb: Verb) -> (World, Option<Admission>) {
        let now_ms = world.now_ms;
        let (kind, terms, alice) = (self.kind, &self.terms, self.alice);
        let before = world.record.clone();
        let kept = before.clone();
        let mut admission = None;
        let record = match (verb, before) {
            (Verb::Arrive(name, card), before) => {
                let who = if name == "bob" { self.bob } else { alice };
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

fn fingerprint(card: u8) -> Fingerprint {
    Fingerprint::of(&Parts {
        method: "POST",
        path_and_query: "/orders",
        content_type: "application/json",
        content_encoding: "",
        body_sha256: [card; 32],
    })
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

fn verbs(attempts: u32) -> Vec<Verb> {
    let mut verbs = vec![
        Verb::Arrive("alice", 0),
        Verb::Arrive("alice", 1),
        Verb::Arrive("bob", 0),
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
struct Change<'a> {
    setting: &'a Setting,
    before: &'a World,
    after: &'a World,
    verb: Verb,
    admission: Option<Admission>,
}

impl Change<'_> {
    /// What is told before and after; nothing of what counts as absent.
    fn views(&self) -> (Option<View>, Option<View>) {
        (
            view(self.before, self.before.now_ms),
            view(self.after, self.before.now_ms),
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

/// Goes through all worlds that [`DEPTH`] verbs reach, and shows each change to `check`.
#[track_caller]
fn everywhere(check: impl Fn(&Change<'_>)) {
    for origin in [Origin::Ledger, Origin::Read, Origin::None] {
        for kind in [KeyKind::Client, KeyKind::Generated] {
            explore(&Setting::new(origin, kind), &check);
        }
    }
}

fn explore(setting: &Setting, check: &impl Fn(&Change<'_>)) {
    let mut layer = vec![World {
        record: None,
        now_ms: 1_000 * DAY_MS,
    }];
    let mut seen = HashSet::new();
    for depth in 1..=DEPTH {
        let mut next = Vec::new();
        for before in &layer {
            let attempts = before
                .record
                .as_ref()
                .map_or(0, |record| record.view(before.now_ms).attempts);
            for verb in verbs(attempts) {
                let (after, admission) = setting.apply(before, verb);
                check(&Change {
                    setting,
                    before,
                    after: &after,
                    verb,
                    admission,
                });
                if depth < DEPTH && seen.insert(format!("{:?}{}", after.record, after.now_ms)) {
                    next.push(after);
                }
            }
        }
        layer = next;
    }
}

#[test]
fn i1_an_attempt_begins_only_where_none_can_be_under_way_or_the_ledger_protects() {
    everywhere(|change| {
        let (before, after) = change.views();
        let attempts = |view: Option<View>| view.map_or(0, |view| view.attempts);
        let record = change.before.record.as_ref();
        let old = record.map_or(0, |record| record.view(change.before.now_ms).attempts);
        if attempts(after) <= old {
            return;
        }
        assert_eq!(attempts(after), old + 1);
        let ledger = change.setting.terms.origin == Origin::Ledger;
        let generated = change.setting.kind == KeyKind::Generated;
        let allowed = match before.map(|view| view.state) {
            None | Some(State::Released) => true,
            Some(State::Unknown) => ledger,
            Some(State::Refused) => generated && matches!(change.verb, Verb::Arrive("alice", _)),
            _ => false,
        };
        assert!(allowed, "{:?} {before:?} {after:?}", change.verb);
    });
}

#[test]
fn i3_every_change_is_an_arrow_of_the_diagram() {
    everywhere(|change| {
        let (before, after) = change.views();
        let (Some(before), Some(after)) = (before, after) else {
            return;
        };
        let resolved = matches!(change.verb, Verb::Resolve(_));
        let arrived = matches!(change.verb, Verb::Arrive(..) | Verb::Redispatch);
        use State::{Cancelled, Dispatched, Executed, Refused, Released, Unknown};
        let arrow = match (before.state, after.state) {
            (from, to) if from == to => true,
            // An attempt begins.
            (Released | Unknown, Dispatched) => arrived,
            (Refused, Dispatched) => arrived && change.setting.kind == KeyKind::Generated,
            // An attempt is lost, or settled.
            (Dispatched, Unknown) => !arrived,
            (Dispatched | Unknown, Cancelled | Executed | Refused | Released) => !arrived,
            (Released, Cancelled) => !arrived,
            // A ledger's word about a late copy, or a person's.
            (Released, Refused) => {
                resolved || matches!(change.verb, Verb::Hear(..) | Verb::Probe(..))
            }
            // Proof wins, whatever was said before.
            (Released | Refused | Cancelled, Executed) => !arrived,
            _ => false,
        };
        assert!(arrow, "{:?} {before:?} {after:?}", change.verb);
        let closed = matches!(before.state, Cancelled | Refused);
        let contradicted = closed && after.state == Executed;
        assert!(
            !contradicted || after.disputed,
            "{:?} {before:?} {after:?}",
            change.verb
        );
    });
}

#[test]
fn i3_a_revision_rises_with_every_change_and_with_nothing_else() {
    everywhere(|change| {
        let revision = |world: &World| world.record.as_ref().map(|record| record.view(0).revision);
        let (old, new) = (revision(change.before), revision(change.after));
        match change.changed() {
            true => assert_eq!(new, Some(old.unwrap_or_default() + 1)),
            false => assert_eq!(new, old),
        }
    });
}

#[test]
fn i3_what_is_told_twice_changes_nothing_the_second_time() {
    everywhere(|change| {
        let told = matches!(
            change.verb,
            Verb::Settle(..) | Verb::Hear(..) | Verb::Probe(..) | Verb::Erase
        );
        let repeated = |verb| change.setting.apply(change.after, verb).0.record;
        // An executed attempt of a record whose dispute is settled speaks to that record only.
        if told && change.verb != Verb::Erase {
            assert_eq!(
                repeated(change.verb),
                change.after.record,
                "{:?}",
                change.verb
            );
        }
    });
}

#[test]
fn i5_a_record_with_an_attempt_that_is_not_settled_is_kept_without_end() {
    everywhere(|change| {
        if let Some(record) = &change.after.record {
            let view = record.view(change.after.now_ms);
            if matches!(view.state, State::Dispatched | State::Unknown) {
                assert_eq!(record.keep_until_ms(), None);
                assert!(!record.is_expired(u64::MAX));
            }
            let stored = serde_json::to_string(&Stored::from(record.clone())).unwrap();
            let read: Stored = serde_json::from_str(&stored).unwrap();
            assert_eq!(&read.into_record(), record);
        }
    });
}

#[test]
fn i7_what_counts_as_settled_has_no_attempt_that_is_not() {
    everywhere(|change| {
        let (_, Some(view)) = change.views() else {
            return;
        };
        let no = matches!(
            view.state,
            State::Cancelled | State::Refused | State::Released
        );
        assert!(!no || view.unsettled == 0, "{:?} {view:?}", change.verb);
    });
}

#[test]
fn i8_a_new_key_is_safe_only_where_nothing_happened_and_nothing_can() {
    everywhere(|change| {
        let (_, Some(view)) = change.views() else {
            return;
        };
        if view.safe_new_key {
            let client = change.setting.kind != KeyKind::Generated;
            let said_no = view.state == State::Cancelled || view.state == State::Refused && client;
            assert!(said_no && view.unsettled == 0 && !view.disputed, "{view:?}");
            assert_eq!(view.executed, Some(false));
        }
    });
}

#[test]
fn k4_a_stranger_changes_and_hears_nothing_unless_nothing_has_happened() {
    everywhere(|change| {
        let (Verb::Arrive("bob", _), (Some(before), _)) = (change.verb, change.views()) else {
            return;
        };
        let owned = change
            .before
            .record
            .as_ref()
            .is_some_and(Operation::is_bound);
        let mismatch = change.admission == Some(Admission::Turn(Turn::PrincipalMismatch));
        if owned && before.state == State::Released {
            assert!(!mismatch);
        } else if mismatch {
            assert!(!change.changed());
        }
    });
}

#[test]
fn a6_the_gate_acts_by_itself_only_where_it_may() {
    everywhere(|change| {
        let Some(record) = &change.after.record else {
            return;
        };
        let now_ms = change.after.now_ms;
        let (step, state) = (record.next_step(now_ms), record.view(now_ms).state);
        let origin = record.terms().origin;
        let allowed = match step {
            Step::At(_) => state == State::Dispatched,
            Step::Redispatch => state == State::Unknown && origin == Origin::Ledger,
            Step::Ask(_) => state == State::Unknown && origin == Origin::Read,
            Step::Hold => state == State::Unknown,
            Step::Rest => !matches!(state, State::Dispatched | State::Unknown),
        };
        assert!(allowed, "{step:?} {state:?}");
        let redispatched = record.clone().redispatch(now_ms).is_some();
        assert_eq!(redispatched, step == Step::Redispatch);
    });
}
