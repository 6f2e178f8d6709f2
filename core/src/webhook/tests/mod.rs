use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ::hmac::{Hmac, KeyInit, Mac};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::Sha256;

use super::keys::{KeyConfig, Keys};
use super::*;

mod documented;
mod keys;
mod payments;
mod settings;
mod tampered;
mod words;

/// 2026-11-30, 08:00:00 UTC.
const NOW_MS: u64 = 1_796_025_600_000;
const NOW_S: &str = "1796025600";

/// Settings, as JSON members behind `"sender":`.
fn webhook(settings: &str) -> Webhook {
    read(settings).unwrap()
}

fn read(settings: &str) -> Result<Webhook, String> {
    let json = format!(r#"{{"sender":{settings}}}"#);
    let config: WebhookConfig = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    Webhook::new(&config)
}

/// Keys, as the JSON of a list.
fn keys(webhook: &Webhook, json: &str) -> Result<Keys, String> {
    let configs: Vec<KeyConfig> = serde_json::from_str(json).unwrap();
    Keys::new(webhook, &configs)
}

fn delivery<'a>(headers: &'a [(&'a str, &'a str)], body: &'a [u8]) -> Delivery<'a> {
    Delivery {
        headers,
        content_type: "application/json",
        body,
        now_ms: NOW_MS,
    }
}

fn mac(secret: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn name<'k>(proof: Result<Proof<'k>, Unbelieved>) -> Result<&'k str, Unbelieved> {
    match proof? {
        Proof::Given(name) => Ok(name),
        Proof::Asked(_) => panic!("no HMAC"),
    }
}

fn key(event: Result<Event, Unbelieved>) -> String {
    match event.unwrap() {
        Event::Known(key) => key.as_str().to_string(),
        other => panic!("{other:?}"),
    }
}

/// Stripe with one secret, and a signature of it at this time.
fn stripe() -> (Webhook, Keys) {
    let webhook = webhook(r#""stripe""#);
    let keys = keys(
        &webhook,
        r#"[{"name":"a","secret":"whsec_0123456789abcdef"}]"#,
    )
    .unwrap();
    (webhook, keys)
}

fn stripe_signature(time: &str, body: &str) -> String {
    let code = mac(
        b"whsec_0123456789abcdef",
        format!("{time}.{body}").as_bytes(),
    );
    format!("t={time},v1={}", crate::hex::encode(&code))
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
