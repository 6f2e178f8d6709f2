//! HMACs, compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha512};

use super::config::Hash;

/// Whether `code` is the HMAC of these parts, one behind the other, under `secret`.
pub(super) fn is_mac(hash: Hash, secret: &[u8], parts: &[&[u8]], code: &[u8]) -> bool {
    match hash {
        Hash::Sha256 => check(Hmac::<Sha256>::new_from_slice(secret), parts, code),
        Hash::Sha512 => check(Hmac::<Sha512>::new_from_slice(secret), parts, code),
    }
}

fn check<M: Mac, E: core::fmt::Debug>(mac: Result<M, E>, parts: &[&[u8]], code: &[u8]) -> bool {
    let mut mac = mac.expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.verify_slice(code).is_ok()
}
