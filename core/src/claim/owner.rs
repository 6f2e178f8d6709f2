//! Who may speak for a claim.
//!
//! An owner is 128 bits of a keyed digest of the claim, its fence and its maker: nobody can guess it,
//! and it is stored nowhere. It is another one with every claim.

use alloc::string::String;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::fence;
use crate::fingerprint::Fingerprint;
use crate::hex;
use crate::identity::Identity;
use crate::operation::Operation;

const BYTES: usize = 16;

/// The owners of one key's claims.
#[derive(Clone, Copy)]
pub struct Owners<'a> {
    secret: &'a [u8],
    operation: Identity,
}

impl<'a> Owners<'a> {
    /// Those of the claim with this identity.
    pub fn new(secret: &'a [u8], operation: Identity) -> Self {
        Self { secret, operation }
    }

    /// The owner of the newest claim.
    pub fn owner(&self, record: &Operation) -> String {
        hex::encode(&self.mac(record).finalize().into_bytes()[..BYTES])
    }

    /// Whether `owner` owns the newest claim. Takes the same time for every wrong one.
    pub fn is_owner(&self, record: Option<&Operation>, owner: &str) -> bool {
        let Some((record, tag)) = record.zip(hex::decode::<BYTES>(owner)) else {
            return false;
        };
        self.mac(record).verify_truncated_left(&tag).is_ok()
    }

    fn mac(&self, record: &Operation) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.secret).expect("HMAC takes keys of any length");
        let maker = record.fingerprint().unwrap_or(Fingerprint::NONE);
        mac.update(b"oncegate-claim-owner-v1\0");
        mac.update(self.operation.as_bytes());
        mac.update(&fence(record).to_be_bytes());
        mac.update(maker.as_bytes());
        mac
    }
}
