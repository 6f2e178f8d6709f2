//! Any delivery to the verifier of any sender: nothing that is not signed is believed, and what is said
//! of a broken one is a sentence.
//!
//! The first byte chooses the sender; header fields are lines, the body is what follows an empty one.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use oncegate_core::problem::Problem;
use oncegate_core::webhook::keys::{KeyConfig, Keys};
use oncegate_core::webhook::{Delivery, Event, MOST_TRIED, Proof, Webhook, WebhookConfig};
use serde_json::{Value, json};

/// 2026-11-30, 08:00:00 UTC: the time of the seeds.
const NOW_MS: u64 = 1_796_025_600_000;

const RSA: &str = include_str!("../../core/src/webhook/tests/keys/rsa.pem");

static SENDERS: LazyLock<Vec<(Webhook, Keys)>> = LazyLock::new(|| {
    let secret = json!([{"name": "s", "secret": "0123456789abcdef"}]);
    let hmac = json!({"header": "X-Sig", "signed": "{id}.{timestamp}.{body}", "timestamp_header": "X-Time", "id_header": "X-Id"});
    let apiv3 = json!({"name": "v3", "secret": "0123456789abcdef0123456789abcdef"});
    let public = json!({"name": "p", "public_key": RSA, "serial": "PUB_KEY_ID_0116"});
    let standard = json!([
        {"name": "s", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
        {"name": "e", "public_key": "whpk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
    ]);
    [
        (json!({"sender": "stripe"}), secret.clone()),
        (json!({"sender": "github"}), secret.clone()),
        (json!({"sender": "standard"}), standard),
        (json!({"sender": "wechat"}), json!([apiv3, public])),
        (
            json!({"sender": "alipay"}),
            json!([{"name": "p", "public_key": RSA}]),
        ),
        (json!({"sender": "hmac", "hmac": hmac}), secret),
    ]
    .into_iter()
    .map(sender)
    .collect()
});

fn sender((settings, keys): (Value, Value)) -> (Webhook, Keys) {
    let settings: WebhookConfig = serde_json::from_value(settings).expect("settings");
    let keys: Vec<KeyConfig> = serde_json::from_value(keys).expect("keys");
    let webhook = Webhook::new(&settings).expect("settings that can be used");
    let keys = Keys::new(&webhook, &keys).expect("keys that can be used");
    (webhook, keys)
}

fuzz_target!(|data: &[u8]| {
    let Some((chosen, rest)) = data.split_first() else {
        return;
    };
    let (webhook, keys) = &SENDERS[usize::from(*chosen) % SENDERS.len()];
    let end = rest.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((&[][..], rest), |end| (&rest[..end], &rest[end + 2..]));
    let Ok(head) = std::str::from_utf8(head) else {
        return;
    };
    let headers: Vec<(&str, &str)> = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .collect();
    let content_type = headers.iter().find(|(name, _)| *name == "content-type");
    let delivery = Delivery {
        headers: &headers,
        content_type: content_type.map_or("", |(_, value)| value),
        body,
        now_ms: NOW_MS,
    };
    match webhook.verify(keys, &delivery) {
        // One that is signed with the secret of the seeds is a seed, or one whose signature stayed.
        Ok(Proof::Given(_)) => {
            let mut longer = body.to_vec();
            longer.push(b'x');
            let changed = Delivery {
                body: &longer,
                ..delivery
            };
            assert!(webhook.verify(keys, &changed).is_err());
        }
        Ok(Proof::Asked(questions)) => {
            assert!((1..=MOST_TRIED).contains(&questions.any_of.len()));
        }
        Err(unbelieved) => assert!(!Problem::from(&unbelieved).detail.is_empty()),
    }
    match webhook.event(&delivery) {
        Ok(Event::Known(key)) => assert!(!key.as_str().is_empty()),
        Ok(Event::Sealed(sealed)) => {
            let _ = sealed.identity(body);
            let _ = sealed.identity(&sealed.bytes);
        }
        Ok(Event::Elsewhere) => {}
        Err(unbelieved) => assert!(!Problem::from(&unbelieved).detail.is_empty()),
    }
});
