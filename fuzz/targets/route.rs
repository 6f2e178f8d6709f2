//! Any path: no spelling that a lenient origin reads as a protected path passes unprotected (rule K5).
//!
//! The first byte chooses the method.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use oncegate_core::policy::{Match, Policy};
use serde_json::json;

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let routes = json!([
        {"name": "pay", "methods": ["POST"], "path": "/pay/:id", "origin": "ledger"},
        {"name": "orders", "methods": ["POST", "PUT"], "path": "/orders/*", "origin": "none"},
    ]);
    let routes: Vec<_> = serde_json::from_value(routes).expect("routes as they are configured");
    Policy::new(&routes, false).expect("routes that can be used")
});

fuzz_target!(|data: &[u8]| {
    let Some((method, path)) = data.split_first() else {
        return;
    };
    let Ok(path) = std::str::from_utf8(path) else {
        return;
    };
    // What can stand in a request line.
    let printable = path.bytes().all(|byte| matches!(byte, 0x21..=0x7e));
    if !printable || !path.starts_with('/') || path.contains(['?', '#']) {
        return;
    }
    let method = ["POST", "PUT", "GET"][usize::from(*method) % 3];
    let found = POLICY.find(method, path, false);
    let protected = is_protected(method, &lenient(path));
    let passes = matches!(found, Match::Unprotected);
    assert!(
        !(protected && passes),
        "{method} {path:?} reads as {:?}",
        lenient(path)
    );
    if let Match::Protected(_) = found {
        assert!(protected, "{method} {path:?} reads as {:?}", lenient(path));
    }
    // Who asks for another method by a header reaches no protected path.
    assert!(!matches!(
        POLICY.find(method, path, true),
        Match::Protected(_)
    ));
});

/// The segments that an origin may read, however it is spelled.
fn lenient(path: &str) -> Vec<String> {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        let segment = decoded(segment.split(';').next().unwrap_or_default());
        match segment.as_str() {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment.to_ascii_lowercase()),
        }
    }
    segments
}

/// Unreserved characters, of which RFC 3986 says that they are the same encoded or not.
fn decoded(segment: &str) -> String {
    let mut text = String::new();
    let mut rest = segment;
    while let Some(character) = rest.chars().next() {
        let byte = rest
            .strip_prefix('%')
            .and_then(|hex| hex.get(..2))
            .filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            .filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte));
        let length = match byte {
            Some(byte) => {
                text.push(char::from(byte));
                3
            }
            None => {
                text.push(character);
                character.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    text
}

fn is_protected(method: &str, segments: &[String]) -> bool {
    match segments {
        [first, _] if first == "pay" => method == "POST",
        [first, _, ..] if first == "orders" => method != "GET",
        _ => false,
    }
}
