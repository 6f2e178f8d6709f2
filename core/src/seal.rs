//! Whether a message between parts of the gate is the gate's own.
//!
//! Shards call couriers through the same door that clients use, so a message must prove where it
//! comes from. A seal proves that its writer knows the gate's secret, and nothing else: it is not the
//! [`signature`](crate::signature) that origins check.

use alloc::string::String;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::hex;

/// Seals `message`.
pub fn seal(secret: &[u8], message: &str) -> String {
    hex::encode(&mac(secret, message).finalize().into_bytes())
}

/// Whether `seal` is the seal of `message`. Takes the same time for every wrong seal.
pub fn is_sealed(secret: &[u8], message: &str, seal: &str) -> bool {
    hex::decode::<32>(seal).is_some_and(|tag| mac(secret, message).verify_slice(&tag).is_ok())
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
    fn only_the_same_message_under_the_same_secret_is_sealed() {
        let sealed = seal(b"secret", "message");
        assert!(is_sealed(b"secret", "message", &sealed));
        assert!(!is_sealed(b"secret", "messagE", &sealed));
        assert!(!is_sealed(b"secreT", "message", &sealed));
        assert!(!is_sealed(
            b"secret",
            "message",
            &sealed.to_ascii_uppercase()
        ));
        assert!(!is_sealed(b"secret", "message", ""));
    }
}
