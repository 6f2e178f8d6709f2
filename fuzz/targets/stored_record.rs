//! Any text as a stored record: an error, or a record with which every verb can do something (rule I5).

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::Stored;
use oncegate_core::proof::Origin;
use oncegate_tests::verbs::{Setting, World, verbs};

fuzz_target!(|text: &[u8]| {
    let Ok(stored) = serde_json::from_slice::<Stored>(text) else {
        return;
    };
    let record = stored.into_record();
    let again = serde_json::to_string(&Stored::from(record.clone())).expect("it is plain data");
    let read: Stored = serde_json::from_str(&again).expect("what was written can be read");
    assert_eq!(read.into_record(), record);
    let setting = Setting::new(Origin::Ledger, KeyKind::Client);
    let world = World {
        record: Some(record),
        ..World::default()
    };
    for verb in verbs(world.attempts().min(4)) {
        let _ = setting.change(&world, verb);
    }
});
