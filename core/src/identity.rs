//! Under which name an operation is stored, and where.
//!
//! An identity is a keyed digest of scope and key: nobody outside can aim keys at one shard, and a
//! stored row does not show the key. The public reference is the same digest, so that a reference
//! alone finds its row.

use alloc::string::String;
use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::key::Key;
use crate::lock::{self, LockName};

/// How many logical shards there are, for the life of the data (architecture, decision 3).
pub const SHARDS: u16 = 1024;

const REFERENCE_PREFIX: &str = "op_";

/// The stored name of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity([u8; 32]);

impl Identity {
    /// The identity of a client's key or token within `scope`, the tenant.
    pub fn of_key(secret: &[u8], scope: &str, key: &Key) -> Self {
        Self::digest(secret, b"key", &[scope, key.as_str()])
    }

    /// The identity of a generated key within `scope`: a value names an operation of its route only.
    pub fn of_generated(secret: &[u8], scope: &str, route: &str, key: &Key) -> Self {
        Self::digest(secret, b"generated", &[scope, route, key.as_str()])
    }

    /// The identity under which an operation is observed: nothing that is observed is ever taken for
    /// what has happened.
    pub fn of_observed(secret: &[u8], operation: &Self) -> Self {
        Self::digest(secret, b"observed", &[&operation.reference()])
    }

    /// The identity of a message or job that is claimed within `scope`: no customer's key is ever taken
    /// for one.
    pub fn of_claim(secret: &[u8], scope: &str, key: &Key) -> Self {
        Self::digest(secret, b"claim", &[scope, key.as_str()])
    }

    /// The identity of a lock: names are the gate's own, whatever host a request was sent to. Two programs
    /// that mean one thing must never have two locks.
    pub fn of_lock(secret: &[u8], name: &LockName) -> Self {
        Self::digest(secret, b"lock", &[name.as_str()])
    }

    /// The identity of a request for a lock.
    pub fn of_lock_request(secret: &[u8], name: &LockName, key: &Key) -> Self {
        Self::digest(secret, b"lock-request", &[name.as_str(), key.as_str()])
    }

    fn digest(secret: &[u8], space: &[u8], parts: &[&str]) -> Self {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
        mac.update(b"oncegate-identity-v1\0");
        mac.update(space);
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Self(mac.finalize().into_bytes().into())
    }

    /// Reads a reference; `None` for anything that is not one.
    pub fn parse(reference: &str) -> Option<Self> {
        let digest = reference.strip_prefix(REFERENCE_PREFIX)?;
        let bytes = URL_SAFE_NO_PAD.decode(digest).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// Reads the primary key of a row.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The number of the shard that holds the row.
    pub fn shard(&self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]]) % SHARDS
    }

    /// The number of the shard that holds the lock.
    pub fn lock_shard(&self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]]) % lock::SHARDS
    }

    /// The digest's bytes: the row's primary key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The public reference (`Oncegate-Operation`).
    pub fn reference(&self) -> String {
        let mut text = String::from(REFERENCE_PREFIX);
        URL_SAFE_NO_PAD.encode_string(self.0, &mut text);
        text
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reference())
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn identity(secret: &str, scope: &str, key: &str) -> Identity {
        Identity::of_key(secret.as_bytes(), scope, &Key::parse(key).unwrap())
    }

    #[test]
    fn scope_key_and_secret_make_the_identity() {
        let one = identity("secret", "shop.example", "k");
        assert_eq!(one, identity("secret", "shop.example", "\"k\""));
        assert_ne!(one, identity("secret", "shop.exampl", "ek"));
        assert_ne!(one, identity("secret", "other.example", "k"));
        assert_ne!(one, identity("another", "shop.example", "k"));
    }

    #[test]
    fn k2_a_generated_key_is_an_operation_of_its_route() {
        let key = Key::parse("42").unwrap();
        let of = |route| Identity::of_generated(b"secret", "shop.example", route, &key);
        assert_eq!(of("pay"), of("pay"));
        assert_ne!(of("pay"), of("refund"));
        assert_ne!(of("pay"), identity("secret", "shop.example", "42"));
    }

    #[test]
    fn an_observed_operation_is_another_one() {
        let one = identity("secret", "shop.example", "k");
        let observed = Identity::of_observed(b"secret", &one);
        assert_eq!(observed, Identity::of_observed(b"secret", &one));
        assert_ne!(observed, one);
        assert_ne!(observed, Identity::of_observed(b"another", &one));
        let other = identity("secret", "shop.example", "l");
        assert_ne!(observed, Identity::of_observed(b"secret", &other));
    }

    #[test]
    fn a_claim_is_no_operation_of_a_customer() {
        let key = Key::parse("42").unwrap();
        let of = |scope| Identity::of_claim(b"secret", scope, &key);
        assert_eq!(of("orders/billing"), of("orders/billing"));
        assert_ne!(of("orders/billing"), of("orders/mail"));
        assert_ne!(of("shop.example"), identity("secret", "shop.example", "42"));
        let generated = Identity::of_generated(b"secret", "", "shop.example", &key);
        assert_ne!(of("shop.example"), generated);
    }

    #[test]
    fn a_lock_is_no_operation_and_its_requests_are_its_own() {
        let name = |text| LockName::parse(text).unwrap();
        let key = Key::parse("k").unwrap();
        let lock = Identity::of_lock(b"secret", &name("k"));
        assert_ne!(lock, identity("secret", "", "k"));
        assert!(lock.lock_shard() < lock::SHARDS);
        let request = |of| Identity::of_lock_request(b"secret", &name(of), &key);
        assert_ne!(request("a"), request("b"));
        assert_ne!(request("k"), lock);
    }

    #[test]
    fn a_reference_finds_its_identity() {
        let one = identity("secret", "shop.example", "k");
        assert_eq!(one.reference().len(), 46);
        assert_eq!(Identity::parse(&one.reference()), Some(one));
        for text in ["", "op_", "op_AAAA", "AAAA"] {
            assert_eq!(Identity::parse(text), None);
        }
    }

    #[test]
    fn every_shard_is_used() {
        let mut used = [false; SHARDS as usize];
        for n in 0..20_000_u32 {
            used[identity("s", "h", &alloc::format!("k{n}")).shard() as usize] = true;
        }
        assert!(used.iter().all(|used| *used));
    }
}
