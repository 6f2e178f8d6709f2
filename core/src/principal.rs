//! Who an operation belongs to (the contract's *bind*).
//!
//! A principal is a keyed digest of a verified attribute within its scope: a stored row does not show
//! who it was, and two tenants' users of one name are two principals.

use alloc::string::String;
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::Sha256;

use crate::hex;

/// The digest of a principal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Principal([u8; 32]);

impl Principal {
    /// The principal that `value` stands for within `scope`, the tenant.
    pub fn of(secret: &[u8], scope: &str, value: &str) -> Self {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
        mac.update(b"oncegate-principal-v1\0");
        for part in [scope, value] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Self(mac.finalize().into_bytes().into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Shows nothing: it stands for a person.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Principal(…)")
    }
}

impl Serialize for Principal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Principal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        hex::decode(&String::deserialize(deserializer)?)
            .map(Self)
            .ok_or_else(|| de::Error::custom("a principal is 64 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn scope_value_and_secret_make_the_principal() {
        let one = Principal::of(b"secret", "shop.example", "user-1");
        assert_eq!(one, Principal::of(b"secret", "shop.example", "user-1"));
        assert_ne!(one, Principal::of(b"secret", "shop.exampl", "euser-1"));
        assert_ne!(one, Principal::of(b"secret", "other.example", "user-1"));
        assert_ne!(one, Principal::of(b"another", "shop.example", "user-1"));
    }

    #[test]
    fn a_principal_survives_storage_and_is_not_shown() {
        let one = Principal::of(b"secret", "shop.example", "user-1");
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Principal>(&text).unwrap(), one);
        assert!(serde_json::from_str::<Principal>("\"user-1\"").is_err());
        assert_eq!(alloc::format!("{one:?}"), "Principal(…)");
    }
}
