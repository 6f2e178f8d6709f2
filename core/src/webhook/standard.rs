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
use super::{Delivery, Event, Proof, Question, Unbelieved};
use crate::key::Key;

const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";

pub(super) const HEADERS: [&str; 3] = [ID, TIMESTAMP, SIGNATURE];

/// More than one while a key is being replaced. Each is compared with each key.
const MOST_SIGNATURES: usize = 8;

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
    let of = |version: &str| -> Vec<Vec<u8>> {
        let values = signatures.iter().filter_map(|item| item.split_once(','));
        let values = values.filter(|(known, _)| *known == version);
        values.filter_map(|(_, value)| decoded(value)).collect()
    };
    let parts = [id.as_bytes(), b".", time.as_bytes(), b".", delivery.body];
    let codes = of("v1");
    let signed = |secret: &[u8]| {
        let mut codes = codes.iter();
        codes.any(|code| is_mac(Hash::Sha256, secret, &parts, code))
    };
    let mut secrets = keys.secrets(delivery.now_ms);
    if let Some((name, _)) = secrets.find(|(_, secret)| signed(secret)) {
        return Ok(Proof::Given(name));
    }
    asked(keys, delivery.now_ms, &of("v1a"), &parts.concat())
}

/// Each signature with each public key.
fn asked<'k>(
    keys: &'k Keys,
    now_ms: u64,
    signatures: &[Vec<u8>],
    message: &[u8],
) -> Result<Proof<'k>, Unbelieved> {
    let public = keys.public(now_ms);
    let public = public.filter(|(_, key)| matches!(key, PublicKey::Ed25519(_)));
    let questions = public.flat_map(|(credential, key)| {
        signatures.iter().map(|signature| Question {
            name: credential.name(),
            key,
            message: message.to_vec(),
            signature: signature.clone(),
        })
    });
    let questions: Vec<Question<'k>> = questions.collect();
    match questions.is_empty() {
        true => Err(Unbelieved::Signature),
        false => Ok(Proof::Asked(questions)),
    }
}

pub(super) fn event(delivery: &Delivery<'_>) -> Result<Event, Unbelieved> {
    Ok(Event::Known(Key::from_value(delivery.header(ID)?)?))
}
