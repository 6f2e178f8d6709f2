//! Any body of a call about claims: what is heard keeps the limits, and every item has its answer or its reason.
//!
//! The first byte chooses the verb.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate_core::claim::{
    Asked, Call, LONGEST_LEASE_MS, LONGEST_RESULT, MOST_ITEMS, SHORTEST_LEASE_MS, Verb,
};

const NOW_MS: u64 = 1_900_000_000_000;

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = data.split_first() else {
        return;
    };
    let verbs = [Verb::Claim, Verb::Complete, Verb::Heartbeat, Verb::Release];
    let verb = verbs[usize::from(*choice) % verbs.len()];
    let Ok(asked) = serde_json::from_slice::<Asked>(body) else {
        return;
    };
    let Ok(call) = Call::read(asked, verb, NOW_MS) else {
        return;
    };
    assert!((1..=MOST_ITEMS).contains(&call.items.len()));
    assert!((1..=64).contains(&call.scope.len()) && call.scope.is_ascii());
    assert!((SHORTEST_LEASE_MS..=LONGEST_LEASE_MS).contains(&call.lease_ms));
    assert_eq!(call.maker.is_some(), verb == Verb::Claim);
    for (index, item) in call.items.iter().enumerate() {
        let Ok(key) = &item.key else {
            continue;
        };
        assert_eq!(key.as_str(), item.name);
        assert!(
            item.result
                .as_ref()
                .is_none_or(|result| result.len() <= LONGEST_RESULT)
        );
        let earlier = call.items[..index]
            .iter()
            .any(|other| other.name == item.name);
        assert!(earlier || !item.is_again);
    }
});
