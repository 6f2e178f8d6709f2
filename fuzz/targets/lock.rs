//! What a caller says of a lock: any name, and any place in line, which nobody but the gate can write.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate_core::lock::{Asker, LockName, Owner, Place, Ticket};

fuzz_target!(|text: &str| {
    match LockName::parse(text) {
        Ok(name) => {
            assert_eq!(name.as_str(), text);
            assert!((1..=128).contains(&text.len()));
            assert!(!text.contains(['/', '%', '?', '#', '\\']), "{text:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(owner) = Owner::parse(text) {
        assert_eq!(owner.to_text(), text);
    }
    let (name, asker) = (LockName::parse("a").expect("a name"), Asker::new([1; 32]));
    assert_eq!(Place::read(text, b"secret", &name, asker, 0), None);
    // And one that the gate has written, with something behind it.
    let number = text.len() as u64;
    let place = Place {
        ticket: Ticket::new(number),
        until_ms: u64::MAX - number,
    };
    let written = place.write(b"secret", &name, asker);
    assert_eq!(
        Place::read(&written, b"secret", &name, asker, 0),
        Some(place)
    );
    if !text.is_empty() {
        let longer = format!("{written}{text}");
        assert_eq!(Place::read(&longer, b"secret", &name, asker, 0), None);
    }
});
