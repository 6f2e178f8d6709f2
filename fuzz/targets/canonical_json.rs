//! Any body as JSON: what it says as one text, which says the same (rule K3).

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate_core::body::canonical::{digest, text};
use oncegate_core::body::pointer::{Pointer, scalar_at};
use serde::de::IgnoredAny;

fuzz_target!(|body: &[u8]| {
    let pointer = Pointer::parse("/a").expect("it is a pointer");
    let _ = text(body, std::slice::from_ref(&pointer));
    let _ = scalar_at(body, &pointer, 8);
    let Ok(canonical) = text(body, &[]) else {
        return;
    };
    // Whoever reads the body after the gate must be able to read it.
    assert!(serde_json::from_slice::<IgnoredAny>(body).is_ok());
    assert_eq!(text(canonical.as_bytes(), &[]).as_ref(), Ok(&canonical));
    assert_eq!(digest(canonical.as_bytes(), &[]), digest(body, &[]));
});
