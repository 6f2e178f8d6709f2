//! A service that sends events: what it signs, and whether a gate believes it.
//!
//! HMACs are real. Where a platform would verify with a public key, a digest under the sender's own word
//! stands for the signature; what is signed is what the core says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use oncegate_core::key::Key;
use oncegate_core::webhook::keys::{KeyConfig, Keys};
use oncegate_core::webhook::{Delivery, Event, Proof, Unbelieved, Webhook, WebhookConfig};
use serde_json::json;
use sha2::{Digest, Sha256, Sha512};

use super::WebhookBug;
use crate::random::Random;

const SECRET: &str = "0123456789abcdef";
const RSA: &str = include_str!("../../../core/src/webhook/tests/keys/rsa.pem");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vendor {
    Alipay,
    Standard,
    Stripe,
}

pub(super) struct Sender {
    vendor: Vendor,
    pub(super) webhook: Webhook,
    keys: Keys,
}

/// A delivery as it goes over the wire.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    headers: Vec<(&'static str, String)>,
    pub(super) body: String,
    /// Known to this simulation only.
    signed_ms: u64,
}

impl Sender {
    pub(super) fn draw(random: &mut Random, stored: bool, bug: Option<WebhookBug>) -> Self {
        let vendor = random.pick(&[Vendor::Alipay, Vendor::Standard, Vendor::Stripe]);
        let (name, keys) = match vendor {
            Vendor::Alipay => ("alipay", json!([{"name": "k", "public_key": RSA}])),
            Vendor::Standard => {
                let key = format!("whpk_{}", STANDARD.encode([7; 32]));
                ("standard", json!([{"name": "k", "public_key": key}]))
            }
            Vendor::Stripe => ("stripe", json!([{"name": "k", "secret": SECRET}])),
        };
        let ack = if stored { "stored" } else { "delivered" };
        let mut settings = json!({"sender": name, "ack": ack});
        if vendor == Vendor::Alipay && bug == Some(WebhookBug::RepetitionTooOld) {
            settings["tolerance_s"] = json!(60);
        }
        let settings: WebhookConfig = serde_json::from_value(settings).expect("settings");
        let keys: Vec<KeyConfig> = serde_json::from_value(keys).expect("keys");
        let webhook = Webhook::new(&settings).expect("settings that can be used");
        Self {
            keys: Keys::new(&webhook, &keys).expect("keys that can be used"),
            vendor,
            webhook,
        }
    }

    /// An event of this name about this fact. Some senders sign each repetition anew.
    pub(super) fn sign(&self, event: &str, fact: u64, first_ms: u64, now_ms: u64) -> Letter {
        let seconds = (now_ms / 1_000).to_string();
        match self.vendor {
            Vendor::Alipay => {
                let fields = format!("fact={fact}&notify_id={event}&utc_timestamp={first_ms}");
                let sign = STANDARD.encode(signature(fields.as_bytes()));
                let sign = sign
                    .replace('+', "%2B")
                    .replace('/', "%2F")
                    .replace('=', "%3D");
                let body = format!("{fields}&sign_type=RSA2&sign={sign}");
                Letter::new(Vec::new(), body, first_ms)
            }
            Vendor::Standard => {
                let body = format!(r#"{{"fact":{fact}}}"#);
                let text = format!("{event}.{seconds}.{body}");
                let sign = format!("v1a,{}", STANDARD.encode(signature(text.as_bytes())));
                let headers = [
                    ("webhook-id", event.to_owned()),
                    ("webhook-timestamp", seconds),
                    ("webhook-signature", sign),
                ];
                Letter::new(headers.into(), body, now_ms)
            }
            Vendor::Stripe => {
                let body = format!(r#"{{"id":"{event}","fact":{fact}}}"#);
                let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
                mac.update(format!("{seconds}.{body}").as_bytes());
                let code = mac.finalize().into_bytes();
                let code: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
                let header = format!("t={seconds},v1={code}");
                Letter::new([("stripe-signature", header)].into(), body, now_ms)
            }
        }
    }

    /// Which event it is, if it is the sender's.
    pub(super) fn read(
        &self,
        letter: &Letter,
        now_ms: u64,
        bug: Option<WebhookBug>,
    ) -> Result<Key, Unbelieved> {
        let headers = letter.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let delivery = Delivery {
            headers: &headers,
            content_type: match self.vendor {
                Vendor::Alipay => "application/x-www-form-urlencoded",
                Vendor::Standard | Vendor::Stripe => "application/json",
            },
            body: letter.body.as_bytes(),
            now_ms: match bug {
                Some(WebhookBug::TimeIgnored) => letter.signed_ms,
                _ => now_ms,
            },
        };
        match self.verify(&delivery) {
            Err(Unbelieved::Signature) if bug == Some(WebhookBug::SignatureIgnored) => {}
            other => other?,
        }
        match self.webhook.event(&delivery)? {
            Event::Known(key) => Ok(key),
            other => panic!("{other:?} of a sender that seals nothing"),
        }
    }

    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Unbelieved> {
        let Proof::Asked(questions) = self.webhook.verify(&self.keys, delivery)? else {
            return Ok(());
        };
        let right = signature(&questions.message);
        let is_right = questions.any_of.iter().any(|one| one.signature == right);
        is_right.then_some(()).ok_or(Unbelieved::Signature)
    }

    /// Whether the sender takes this for an acknowledgement.
    pub(super) fn is_taken(&self, status: u16, body: &str) -> bool {
        match self.vendor {
            Vendor::Alipay => body == "success",
            Vendor::Standard | Vendor::Stripe => (200..300).contains(&status),
        }
    }
}

impl Letter {
    fn new(headers: Vec<(&'static str, String)>, body: String, signed_ms: u64) -> Self {
        Self {
            headers,
            body,
            signed_ms,
        }
    }

    /// What the event is about, as a shop reads it.
    pub(super) fn fact(&self) -> u64 {
        let behind = self.body.split("fact").nth(1).unwrap_or_default();
        let digits = behind.chars().skip_while(|digit| !digit.is_ascii_digit());
        let digits: String = digits.take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_default()
    }

    /// The same for another event, or about another fact.
    pub(super) fn tampered(&self, random: &mut Random) -> Self {
        let mut letter = self.clone();
        let other = |text: &str| text.replace("evt-", "evt-9");
        if random.chance(500) {
            let named = letter.body.replacen("fact\":", "fact\":9", 1);
            letter.body = named.replacen("fact=", "fact=9", 1);
        } else {
            letter.body = other(&letter.body);
            for (_, value) in &mut letter.headers {
                *value = other(value);
            }
        }
        letter
    }
}

/// Stands for a signature with a private key: as long as one of Ed25519.
fn signature(message: &[u8]) -> Vec<u8> {
    let digest = Sha512::new().chain_update(b"the sender's own");
    digest.chain_update(message).finalize().to_vec()
}
