//! HMACs, compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha512};

use super::config::Hash;

/// Whether one of `codes` is the HMAC of these parts, one behind the other, under `secret`. The parts are
/// read once, however many codes there are.
pub(super) fn is_mac<C: AsRef<[u8]>>(
    hash: Hash,
    secret: &[u8],
    parts: &[&[u8]],
    codes: &[C],
) -> bool {
    match hash {
        Hash::Sha256 => check(Hmac::<Sha256>::new_from_slice(secret), parts, codes),
        Hash::Sha512 => check(Hmac::<Sha512>::new_from_slice(secret), parts, codes),
    }
}

fn check<M: Mac + Clone, E: core::fmt::Debug, C: AsRef<[u8]>>(
    mac: Result<M, E>,
    parts: &[&[u8]],
    codes: &[C],
) -> bool {
    let mut mac = mac.expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    let is_it = |code: &C| mac.clone().verify_slice(code.as_ref()).is_ok();
    codes.iter().any(is_it)
}
