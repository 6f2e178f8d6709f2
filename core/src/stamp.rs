//! Whether a message between parts of the gate is the gate's own.
//!
//! Shards call couriers through the same door that clients use, so a message must prove where it
//! comes from. A stamp proves that its writer knows the gate's secret, and nothing else: it is not the
//! [`signature`](crate::signature) that origins check, and hides nothing as
//! [`sealing`](crate::sealing) does.

use alloc::string::String;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::hex;

/// The stamp of `message`.
pub fn stamp(secret: &[u8], message: &str) -> String {
    hex::encode(&mac(secret, message).finalize().into_bytes())
}

/// Whether `stamp` is the stamp of `message`. Takes the same time for every wrong one.
pub fn is_stamped(secret: &[u8], message: &str, stamp: &str) -> bool {
    hex::decode::<32>(stamp).is_some_and(|tag| mac(secret, message).verify_slice(&tag).is_ok())
}

fn mac(secret: &[u8], message: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(b"oncegate-seal-v1\0");
    mac.update(message.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn only_the_same_message_under_the_same_secret_is_stamped() {
        let stamped = stamp(b"secret", "message");
        assert!(is_stamped(b"secret", "message", &stamped));
        assert!(!is_stamped(b"secret", "messagE", &stamped));
        assert!(!is_stamped(b"secreT", "message", &stamped));
        assert!(!is_stamped(
            b"secret",
            "message",
            &stamped.to_ascii_uppercase()
        ));
        assert!(!is_stamped(b"secret", "message", ""));
    }
}
