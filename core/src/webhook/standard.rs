//! Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`, over
//! `<id>.<timestamp>.<body>`: HMAC-SHA-256 (`v1`) or Ed25519 (`v1a`), in base64, several with spaces
//! between them.
//!
//! The timestamp is the attempt's: a repetition has a new one, and the same id.

use alloc::string::String;
use alloc::vec::Vec;

use super::config::Hash;
use super::keys::{Keys, PublicKey, decoded};
use super::mac::is_mac;
use super::time::check_seconds;
use super::{Delivery, Event, MOST_TRIED, Proof, Question, Questions, Unbelieved};
use crate::key::Key;

const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";

pub(super) const HEADERS: [&str; 3] = [ID, TIMESTAMP, SIGNATURE];

/// More than one while a key is being replaced. Each is compared with each key.
const MOST_SIGNATURES: usize = 8;

/// The length of an Ed25519 signature. Whatever has another one is none, and is not tried.
const ED25519_LENGTH: usize = 64;

pub(super) fn verify<'k>(
    keys: &'k Keys,
    delivery: &Delivery<'_>,
    tolerance_ms: u64,
) -> Result<Proof<'k>, Unbelieved> {
    let (id, time) = (delivery.header(ID)?, delivery.header(TIMESTAMP)?);
    // With a dot in it, two deliveries would have one text.
    if id.contains('.') {
        return Err(Unbelieved::Header(String::from(ID), "has a dot in it"));
    }
    check_seconds(TIMESTAMP, time, delivery.now_ms, tolerance_ms)?;
    let signatures: Vec<&str> = delivery.header(SIGNATURE)?.split(' ').collect();
    if signatures.len() > MOST_SIGNATURES {
        return Err(Unbelieved::Header(
            String::from(SIGNATURE),
            "has more than 8 signatures",
        ));
    }
    // Two lines of one name, as runtimes join them: two readers may take two of them.
    if signatures.iter().any(|item| item.matches(',').count() > 1) {
        return Err(Unbelieved::Header(
            String::from(SIGNATURE),
            "is there twice",
        ));
    }
    let of = |version: &str| -> Vec<Vec<u8>> {
        let values = signatures.iter().filter_map(|item| item.split_once(','));
        let values = values.filter(|(known, _)| *known == version);
        values.filter_map(|(_, value)| decoded(value)).collect()
    };
    let parts = [id.as_bytes(), b".", time.as_bytes(), b".", delivery.body];
    let codes = of("v1");
    if !codes.is_empty() {
        let mut secrets = keys.secrets(delivery.now_ms);
        let found = secrets.find(|(_, secret)| is_mac(Hash::Sha256, secret, &parts, &codes));
        if let Some((name, _)) = found {
            return Ok(Proof::Given(name));
        }
    }
    let mut signatures = of("v1a");
    signatures.retain(|signature| signature.len() == ED25519_LENGTH);
    let any_of = tried(keys, delivery.now_ms, &signatures);
    match any_of.len() {
        0 => Err(Unbelieved::Signature),
        1..=MOST_TRIED => Ok(Proof::Asked(Questions {
            message: parts.concat(),
            any_of,
        })),
        _ => Err(Unbelieved::Header(
            String::from(SIGNATURE),
            "has more signatures than are tried",
        )),
    }
}

/// Each signature with each public key.
fn tried<'k>(keys: &'k Keys, now_ms: u64, signatures: &[Vec<u8>]) -> Vec<Question<'k>> {
    let public = keys.public(now_ms);
    let public = public.filter(|(_, key)| matches!(key, PublicKey::Ed25519(_)));
    let questions = public.flat_map(|(credential, key)| {
        signatures.iter().map(|signature| Question {
            name: credential.name(),
            key,
            signature: signature.clone(),
        })
    });
    questions.collect()
}

pub(super) fn event(delivery: &Delivery<'_>) -> Result<Event, Unbelieved> {
    Ok(Event::Known(Key::from_value(delivery.header(ID)?)?))
}
