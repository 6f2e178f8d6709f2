//! GitHub: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA-256 over the body.
//!
//! Neither a time nor `X-GitHub-Delivery`, the event's identity, is signed: a repetition by hand, up to
//! days later, is the same request. Whoever has seen a body and its signature can send it under another
//! identity; what stops that is the index on what the event is about, at the origin.

use alloc::string::String;

use super::config::Hash;
use super::keys::Keys;
use super::mac::is_mac;
use super::{Delivery, Event, Proof, Unbelieved};
use crate::hex;
use crate::key::Key;

const DELIVERY: &str = "x-github-delivery";
const SIGNATURE: &str = "x-hub-signature-256";

pub(super) const HEADERS: [&str; 2] = [DELIVERY, SIGNATURE];

pub(super) fn verify<'k>(keys: &'k Keys, delivery: &Delivery<'_>) -> Result<Proof<'k>, Unbelieved> {
    let value = delivery.header(SIGNATURE)?;
    let code = value.strip_prefix("sha256=").and_then(hex::decode::<32>);
    let wrong = || Unbelieved::Header(String::from(SIGNATURE), "is not sha256= and 64 digits");
    let code = code.ok_or_else(wrong)?;
    let mut secrets = keys.secrets(delivery.now_ms);
    let found = secrets.find(|(_, secret)| is_mac(Hash::Sha256, secret, &[delivery.body], &[code]));
    found
        .map(|(name, _)| Proof::Given(name))
        .ok_or(Unbelieved::Signature)
}

pub(super) fn event(delivery: &Delivery<'_>) -> Result<Event, Unbelieved> {
    Ok(Event::Known(Key::from_value(delivery.header(DELIVERY)?)?))
}
