//! Any body, path or query as the source of a key (rule K2).
//!
//! The first byte chooses the source; in multipart, what is in front of the first line break is the
//! boundary.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate_core::body::multipart::{self, Boundary};
use oncegate_core::body::pointer::{Pointer, key_value, only_key_value};
use oncegate_core::body::{KeySourceError, KeyText, form};
use oncegate_core::key::Key;

const NAME: &str = "order";

fuzz_target!(|data: &[u8]| {
    let Some((source, body)) = data.split_first() else {
        return;
    };
    if let Some(Ok(text)) = read(source % 5, body) {
        assert!(!text.as_str().is_empty());
        if let Ok(key) = Key::from_value(text.as_str()) {
            assert_eq!(key.as_str(), text.as_str());
            assert_eq!(Key::parse(&key.to_header()), Ok(key));
        }
    }
});

fn read(source: u8, body: &[u8]) -> Option<Result<KeyText, KeySourceError>> {
    Some(match source {
        0 => {
            let pointer = Pointer::parse("/order/no").ok()?;
            let found = key_value(body, &pointer);
            if let Ok(only) = only_key_value(body, &pointer) {
                assert_eq!(found.as_ref(), Ok(&only));
            }
            found
        }
        1 => form::field(body, NAME),
        2 => form::segment(std::str::from_utf8(body).ok()?, NAME),
        3 => key_value(body, &Pointer::parse("/0").ok()?),
        _ => {
            let end = body.iter().position(|byte| *byte == b'\n')?;
            let (head, body) = body.split_at(end);
            let content_type = std::str::from_utf8(head).ok()?;
            let boundary = Boundary::parse(content_type).ok()?;
            let _ = multipart::digest(&body[1..], &boundary);
            multipart::field(&body[1..], &boundary, NAME)
        }
    })
}
