//! What holds of every change of a record: the invariants of section 2.

use oncegate_core::key::KeyKind;
use oncegate_core::operation::{Admission, Operation, State, Step, Stored, Turn, View};
use oncegate_core::proof::Origin;

use super::{Change, Person, Verb, World};

/// All of them.
pub const ALL: [fn(&Change<'_>); 9] = [
    one_owner,
    arrow,
    revision,
    told_twice,
    kept,
    joined,
    safe_new_key,
    strangers,
    steps,
];

/// I1: an attempt begins only where none can be under way, or the ledger protects.
pub fn one_owner(change: &Change<'_>) {
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
        Some(State::Refused) => generated && matches!(change.verb, Verb::Arrive(Person::Alice, _)),
        _ => false,
    };
    assert!(allowed, "{:?} {before:?} {after:?}", change.verb);
}

/// I3: every change is an arrow of the diagram, and a contradiction is a dispute.
pub fn arrow(change: &Change<'_>) {
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
        (Released, Refused) => resolved || matches!(change.verb, Verb::Hear(..) | Verb::Probe(..)),
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
}

/// I3: the revision rises with every change and with nothing else.
pub fn revision(change: &Change<'_>) {
    let revision = |world: &World| world.record.as_ref().map(|record| record.view(0).revision);
    let (old, new) = (revision(change.before), revision(&change.after));
    match change.changed() {
        true => assert_eq!(new, Some(old.unwrap_or_default() + 1)),
        false => assert_eq!(new, old),
    }
}

/// I3: what is told twice changes nothing the second time.
pub fn told_twice(change: &Change<'_>) {
    let told = matches!(
        change.verb,
        Verb::Settle(..) | Verb::Hear(..) | Verb::Probe(..) | Verb::Erase
    );
    let repeated = |verb| change.setting.apply(&change.after, verb).0.record;
    // An executed attempt of a record whose dispute is settled speaks to that record only.
    if told && change.verb != Verb::Erase {
        assert_eq!(
            repeated(change.verb),
            change.after.record,
            "{:?}",
            change.verb
        );
    }
}

/// I5: a record with an attempt that is not settled, or one that is disputed, is kept without end, and survives storage.
pub fn kept(change: &Change<'_>) {
    if let Some(record) = &change.after.record {
        let view = record.view(change.after.now_ms);
        if view.disputed || matches!(view.state, State::Dispatched | State::Unknown) {
            assert_eq!(record.keep_until_ms(), None);
            assert!(!record.is_expired(u64::MAX));
        }
        let stored = serde_json::to_string(&Stored::from(record.clone())).unwrap();
        let read: Stored = serde_json::from_str(&stored).unwrap();
        assert_eq!(&read.into_record(), record);
    }
}

/// I7: what counts as settled has no attempt that is not.
pub fn joined(change: &Change<'_>) {
    let (_, Some(view)) = change.views() else {
        return;
    };
    let no = matches!(
        view.state,
        State::Cancelled | State::Refused | State::Released
    );
    assert!(!no || view.unsettled == 0, "{:?} {view:?}", change.verb);
}

/// I8: a new key is safe only where nothing happened and nothing can.
pub fn safe_new_key(change: &Change<'_>) {
    let (_, Some(view)) = change.views() else {
        return;
    };
    if view.safe_new_key {
        let client = change.setting.kind != KeyKind::Generated;
        let said_no = view.state == State::Cancelled || view.state == State::Refused && client;
        assert!(said_no && view.unsettled == 0 && !view.disputed, "{view:?}");
        assert_eq!(view.executed, Some(false));
    }
}

/// K4: a stranger changes nothing and hears nothing, unless nothing has happened.
pub fn strangers(change: &Change<'_>) {
    let (Verb::Arrive(Person::Bob, _), (Some(before), _)) = (change.verb, change.views()) else {
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
}

/// A6: the gate acts by itself only where it may.
pub fn steps(change: &Change<'_>) {
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
}
