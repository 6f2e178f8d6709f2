//! Any header value: a key, or an error with its place (rule K1).

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate_core::key::Key;

fuzz_target!(|text: &str| {
    match Key::parse(text) {
        Ok(key) => {
            // With commas runtimes join lines: what has one might be several keys.
            assert!(!text.contains(','), "{text:?}");
            let value = key.as_str();
            assert!((1..=255).contains(&value.len()), "{value:?}");
            assert!(
                value
                    .bytes()
                    .all(|byte| matches!(byte, 0x20..=0x7e) && byte != b',')
            );
            let spelled = Key::parse(&key.to_header()).expect("its own spelling is a key");
            assert_eq!(spelled.as_str(), value);
            let quoted = format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
            assert_eq!(Key::parse(&quoted).expect("both spellings").as_str(), value);
        }
        Err(error) => {
            assert!(error.position() <= text.len() + 1);
            assert!(!error.to_string().is_empty());
        }
    }
    if let Ok(key) = Key::from_value(text) {
        assert_eq!(Key::parse(&key.to_header()), Ok(key));
    }
});
