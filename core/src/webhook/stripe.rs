//! Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>]`, HMAC-SHA-256 over `<t>.<body>`.
//!
//! A repetition is signed anew, with the time of its sending, and has the event's own `id`.

use alloc::string::String;
use alloc::vec::Vec;

use super::config::Hash;
use super::keys::Keys;
use super::mac::is_mac;
use super::time::check_seconds;
use super::{Delivery, Event, Proof, Unbelieved};
use crate::body::pointer::{Pointer, key_value};
use crate::hex;
use crate::key::Key;

const SIGNATURE: &str = "stripe-signature";

pub(super) const HEADERS: [&str; 1] = [SIGNATURE];

/// More than one while its secret is being replaced. Each is compared with each secret.
const MOST_SIGNATURES: usize = 8;

pub(super) fn verify<'k>(
    keys: &'k Keys,
    delivery: &Delivery<'_>,
    tolerance_ms: u64,
) -> Result<Proof<'k>, Unbelieved> {
    let (time, signatures) = parse(delivery.header(SIGNATURE)?)?;
    check_seconds(SIGNATURE, time, delivery.now_ms, tolerance_ms)?;
    let parts = [time.as_bytes(), b".", delivery.body];
    let mut secrets = keys.secrets(delivery.now_ms);
    let found = secrets.find(|(_, secret)| is_mac(Hash::Sha256, secret, &parts, &signatures));
    found
        .map(|(name, _)| Proof::Given(name))
        .ok_or(Unbelieved::Signature)
}

fn parse(header: &str) -> Result<(&str, Vec<[u8; 32]>), Unbelieved> {
    let wrong = |what| Unbelieved::Header(String::from(SIGNATURE), what);
    let mut time = None;
    let mut signatures = Vec::new();
    for item in header.split(',') {
        match item.trim().split_once('=') {
            Some(("t", _)) if time.is_some() => return Err(wrong("has t twice")),
            Some(("t", value)) => time = Some(value),
            Some(("v1", value)) => {
                signatures
                    .push(hex::decode(value).ok_or_else(|| wrong("has a v1 that is no hex"))?);
            }
            // Other schemes: v0 is Stripe's for its tests.
            Some(_) => {}
            None => return Err(wrong("is not t=…,v1=…")),
        }
    }
    match time {
        Some(time) if (1..=MOST_SIGNATURES).contains(&signatures.len()) => Ok((time, signatures)),
        _ => Err(wrong("is not t=…,v1=…")),
    }
}

pub(super) fn event(delivery: &Delivery<'_>) -> Result<Event, Unbelieved> {
    let id = key_value(delivery.body, &pointer("/id"))?;
    Ok(Event::Known(Key::from_value(id.as_str())?))
}

/// A pointer of this module's own.
pub(super) fn pointer(text: &str) -> Pointer {
    Pointer::parse(text).expect("a pointer that is written here")
}
