//! Which key an intent has, and for how long it may be sent (architecture, decision 10; rule T3).
//!
//! Invariant: the key is a function of the install secret, the intent and the epoch. Two tabs that
//! race compute the same key without a lock, and there is no moment between "drawn" and "stored" in
//! which a crash could lose it. The epoch rises only where
//! [`attempt`](crate::attempt) says so (rule T4).

use alloc::string::String;
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Builder;

use crate::hex;
use crate::key::Key;

/// How long a key is taken to be remembered by a server that never said so: a day, which is the
/// shortest time in common use.
pub const ASSUMED_LIFETIME_MS: u64 = 24 * 60 * 60 * 1_000;

/// The bytes that make one installation's keys its own: without them, two customers with a "cart-1"
/// would share a key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct InstallSecret([u8; 32]);

impl InstallSecret {
    /// Takes 32 bytes from a cryptographic source of randomness.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads what [`to_hex`](Self::to_hex) wrote; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        hex::decode(text).map(Self)
    }

    /// 64 digits of lower-case hexadecimal, for storage.
    pub fn to_hex(&self) -> String {
        hex::encode(&self.0)
    }

    /// The key of an intent in its `epoch`, counted from 0: a UUID of version 8.
    pub fn key(&self, intent: &str, epoch: u64) -> Key {
        let mut mac = self.mac(b"oncegate-intent-v1");
        update_with_length(&mut mac, intent.as_bytes());
        mac.update(&epoch.to_be_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&mac.finalize().into_bytes()[..16]);
        Key::from_uuid(Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// For what is secret in another way, once: as much of it as a drawn key needs.
    pub fn random(&self) -> [u8; 10] {
        let mut random = [0; 10];
        random.copy_from_slice(&self.0[..10]);
        random
    }

    /// HMAC pads its key with zeros to a block of the hash: a full block cannot be refused.
    fn mac(&self, purpose: &[u8]) -> Hmac<Sha256> {
        let mut block = [0; 64];
        block[..32].copy_from_slice(&self.0);
        let mut mac = Hmac::new(&block.into());
        mac.update(purpose);
        mac
    }
}

/// A digest that tells one payload of an intent from the next.
///
/// 32 bits are enough for that, and too few to search for the payload: many card numbers have the
/// same digest. The server compares the full fingerprint.
#[derive(Debug)]
pub struct PayloadDigest(Hmac<Sha256>);

impl PayloadDigest {
    /// Begins.
    pub fn new(secret: &InstallSecret) -> Self {
        Self(secret.mac(b"oncegate-payload-v1"))
    }

    /// A part of that many bytes follows, so that it matters where parts end.
    pub fn begin_part(&mut self, length: u64) {
        self.0.update(&length.to_be_bytes());
    }

    /// The next bytes of the part.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Eight digits of lower-case hexadecimal.
    pub fn finish(self) -> String {
        hex::encode(&self.0.finalize().into_bytes()[..4])
    }
}

/// Hides the secret from logs.
impl fmt::Debug for InstallSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallSecret(…)")
    }
}

/// The key of an operation without an intent: a UUID of version 7, made of the time (milliseconds
/// since the Unix epoch) and 10 random bytes. It is gone with the page.
pub fn drawn_key(now_ms: u64, random: &[u8; 10]) -> Key {
    Key::from_uuid(Builder::from_unix_timestamp_millis(now_ms, random).into_uuid())
}

/// Whether a key that was first sent at `first_sent_ms` may be sent again: until 90 % of its
/// lifetime (rule T3). Later the gate may have forgotten it, and a send could be a second execution.
///
/// A clock that went back counts as no time passed.
pub fn is_fresh(first_sent_ms: u64, lifetime_ms: u64, now_ms: u64) -> bool {
    let age_ms = now_ms.saturating_sub(first_sent_ms);
    age_ms.saturating_mul(10) < lifetime_ms.saturating_mul(9)
}

fn update_with_length(mac: &mut Hmac<Sha256>, bytes: &[u8]) {
    mac.update(&(bytes.len() as u64).to_be_bytes());
    mac.update(bytes);
}

#[cfg(test)]
mod tests {
    use alloc::format;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn secret() -> InstallSecret {
        InstallSecret::from_random(core::array::from_fn(|index| index as u8))
    }

    /// Computed with Python: `hmac.new(secret, b"oncegate-intent-v1" + len(i).to_bytes(8, "big") + i
    /// + epoch.to_bytes(8, "big"), "sha256").digest()[:16]`, then version 8 and variant 10.
    #[test]
    fn an_intents_key_is_derived() {
        for (intent, epoch, key) in [
            ("cart-42", 0, "10beaa93-0983-809b-8c43-a4229abf54b0"),
            ("cart-42", 1, "5f2b8dba-569b-8feb-8d1d-426dd4dd330e"),
            ("", 0, "73ff5970-b78f-8785-92f3-de9695d01f4e"),
            ("订单-1", 7, "08350c18-0b3e-8047-a5d1-8e554bc3b18a"),
            ("cart-4", 1 << 53, "bccbfad4-9856-80b8-9b4c-ca858514d1bd"),
        ] {
            assert_eq!(
                secret().key(intent, epoch).as_str(),
                key,
                "{intent} {epoch}"
            );
        }
        let other = InstallSecret::from_random([0xff; 32]);
        assert_eq!(
            other.key("cart-42", 0).as_str(),
            "3c5f319c-4b52-860f-89fc-6b5692f65c4d"
        );
    }

    #[test]
    fn a_payloads_digest_depends_on_where_its_parts_end() {
        let digest = |parts: [&[u8]; 4]| {
            let mut digest = PayloadDigest::new(&secret());
            for part in parts {
                digest.begin_part(part.len() as u64);
                digest.update(part);
            }
            digest.finish()
        };
        assert_eq!(
            digest([b"POST", b"/orders", b"application/json", b"{\"a\":1}"]),
            "077461e3"
        );
        assert_eq!(
            digest([b"POST", b"/order", b"sapplication/json", b"{\"a\":1}"]),
            "2262cbbf"
        );
    }

    #[test]
    fn a_drawn_key_is_a_uuid_of_version_7() {
        let key = drawn_key(0x0192_3456_789a, &[0xff; 10]);
        assert_eq!(key.as_str(), "01923456-789a-7fff-bfff-ffffffffffff");
    }

    #[test]
    fn a_secret_survives_storage_and_stays_out_of_logs() {
        let stored = secret().to_hex();
        assert_eq!(InstallSecret::parse(&stored), Some(secret()));
        assert_eq!(InstallSecret::parse(&stored[1..]), None);
        assert_eq!(InstallSecret::parse(&stored.to_uppercase()), None);
        assert_eq!(format!("{:?}", secret()), "InstallSecret(…)");
    }

    #[test]
    fn t3_a_key_is_sent_until_nine_tenths_of_its_lifetime() {
        assert!(is_fresh(1_000, 100_000, 1_000));
        assert!(is_fresh(1_000, 100_000, 90_999));
        assert!(!is_fresh(1_000, 100_000, 91_000));
        assert!(!is_fresh(1_000, 100_000, u64::MAX));
        assert!(!is_fresh(1_000, 0, 1_000));
    }

    #[test]
    fn t3_a_clock_that_went_back_does_not_age_a_key() {
        assert!(is_fresh(50_000, 100_000, 0));
    }
}
