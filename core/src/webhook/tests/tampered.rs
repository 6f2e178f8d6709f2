//! Whatever is changed on the way, and whoever else signs, is not believed.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

const BODY: &str = r#"{"id":"evt_1"}"#;

#[track_caller]
fn stripe_refuses(header: &str, body: &str, expected: &str) {
    let (webhook, keys) = stripe();
    let headers = [("stripe-signature", header)];
    let proof = webhook.verify(&keys, &delivery(&headers, body.as_bytes()));
    assert_eq!(proof.unwrap_err().to_string(), expected);
}

#[test]
fn a_stripe_signature_is_of_these_bytes_at_this_time() {
    let signature = stripe_signature(NOW_S, BODY);
    let wrong = "the signature is not the sender's";
    stripe_refuses(&signature, r#"{"id":"evt_2"}"#, wrong);
    stripe_refuses(&signature, "", wrong);
    stripe_refuses(&signature.replace(NOW_S, "1796025601"), BODY, wrong);
    stripe_refuses(&signature.replace(NOW_S, "01796025600"), BODY, wrong);
    let clock = "the time of the signature is too far from now";
    for time in ["1796025299", "1796025901", "0", "999999999999"] {
        stripe_refuses(&stripe_signature(time, BODY), BODY, clock);
    }
    for time in ["1796025300", "1796025900"] {
        let (webhook, keys) = stripe();
        let signature = stripe_signature(time, BODY);
        let headers = [("stripe-signature", signature.as_str())];
        let delivery = delivery(&headers, BODY.as_bytes());
        assert_eq!(name(webhook.verify(&keys, &delivery)), Ok("a"));
    }
}

#[test]
fn a_stripe_header_has_one_reading() {
    let signature = stripe_signature(NOW_S, BODY);
    let field = "the header field 'stripe-signature'";
    // Two lines of one name, as runtimes join them.
    let twice = format!("{signature}, {signature}");
    stripe_refuses(&twice, BODY, &format!("{field} has t twice"));
    let form = format!("{field} is not t=…,v1=…");
    let many = format!(
        "t={NOW_S}{}",
        signature.replace(&format!("t={NOW_S}"), "").repeat(9)
    );
    for header in ["", "t", &format!("t={NOW_S}"), &signature[13..], &many] {
        stripe_refuses(header, BODY, &form);
    }
    let short = &signature[..signature.len() - 1];
    stripe_refuses(short, BODY, &format!("{field} has a v1 that is no hex"));
    stripe_refuses(
        &signature
            .to_ascii_uppercase()
            .replace("T=", "t=")
            .replace("V1=", "v1="),
        BODY,
        &format!("{field} has a v1 that is no hex"),
    );
    let time = signature.replace(NOW_S, "+796025600");
    stripe_refuses(
        &time,
        BODY,
        &format!("{field} has no time in seconds since 1970"),
    );
    let (webhook, keys) = stripe();
    let proof = webhook.verify(&keys, &delivery(&[], BODY.as_bytes()));
    assert_eq!(
        proof.unwrap_err().to_string(),
        format!("{field} is missing")
    );
}

#[test]
fn a_retired_secret_and_a_coming_one_verify_nothing() {
    let webhook = webhook(r#""stripe""#);
    let of = |dates: &str| {
        let json = format!(r#"[{{"name":"a","secret":"whsec_0123456789abcdef"{dates}}}]"#);
        let keys = keys(&webhook, &json).unwrap();
        let signature = stripe_signature(NOW_S, BODY);
        let headers = [("stripe-signature", signature.as_str())];
        webhook
            .verify(&keys, &delivery(&headers, BODY.as_bytes()))
            .map(|_| ())
    };
    assert_eq!(of(r#","not_after":"2026-11-30""#), Ok(()));
    assert_eq!(of(r#","not_before":"2026-11-30T08:00:00Z""#), Ok(()));
    let refused = Err(Unbelieved::Signature);
    assert_eq!(of(r#","not_after":"2026-11-29""#), refused);
    assert_eq!(of(r#","not_before":"2026-12-01""#), refused);
}

#[test]
fn an_event_without_an_identity_is_not_taken() {
    let (webhook, _) = stripe();
    let event = |body: &str| {
        webhook
            .event(&delivery(&[], body.as_bytes()))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(event("{}"), "'/id' is missing; the key is taken from it");
    assert!(event(r#"{"id":"a","id":"b"}"#).starts_with("'/id' is ambiguous"));
    assert!(event(r#"{"id":"a,b"}"#).starts_with("the event's identity is no key"));
    assert!(event("id=1").starts_with("'/id' cannot be read"));
}

#[test]
fn a_standard_webhook_is_of_this_id_time_and_body() {
    let webhook = webhook(r#""standard""#);
    let secret = b"0123456789abcdef01234567";
    let json = format!(r#"[{{"name":"s","secret":"whsec_{}"}}]"#, base64(secret));
    let keys = keys(&webhook, &json).unwrap();
    let signature = format!(
        "v1,{}",
        base64(&mac(secret, format!("msg.{NOW_S}.{{}}").as_bytes()))
    );
    let verify = |id: &str, time: &str, signature: &str, body: &str| {
        let headers = [
            ("webhook-id", id),
            ("webhook-timestamp", time),
            ("webhook-signature", signature),
        ];
        webhook
            .verify(&keys, &delivery(&headers, body.as_bytes()))
            .map(|_| ())
    };
    assert_eq!(verify("msg", NOW_S, &signature, "{}"), Ok(()));
    let refused = Err(Unbelieved::Signature);
    assert_eq!(verify("msh", NOW_S, &signature, "{}"), refused);
    assert_eq!(verify("msg", "1796025601", &signature, "{}"), refused);
    assert_eq!(verify("msg", NOW_S, &signature, "{ }"), refused);
    assert_eq!(
        verify("msg", NOW_S, &signature.replace("v1,", "v1a,"), "{}"),
        refused
    );
    assert_eq!(
        verify("msg", NOW_S, &signature.replace("v1,", "v2,"), "{}"),
        refused
    );
    // The same text, cut elsewhere.
    let shifted = format!("msg.{NOW_S}");
    assert_eq!(
        verify(&shifted, NOW_S, &signature, "{}")
            .unwrap_err()
            .to_string(),
        "the header field 'webhook-id' has a dot in it"
    );
    let twice = format!("{signature}, {signature}");
    assert_eq!(
        verify("msg", NOW_S, &twice, "{}").unwrap_err().to_string(),
        "the header field 'webhook-signature' is there twice"
    );
    let many = [signature.as_str(); 9].join(" ");
    assert!(verify("msg", NOW_S, &many, "{}").is_err());
}

/// One of a sender's with these public keys, and signatures of so many bytes.
fn of_ed25519(keys_count: u8, lengths: &[usize]) -> Result<(usize, usize), Unbelieved> {
    let webhook = webhook(r#""standard""#);
    let key = |number: u8| {
        let key = format!("whpk_{}", base64(&[number; 32]));
        serde_json::json!({"name": format!("e{number}"), "public_key": key})
    };
    let list: Vec<_> = (0..keys_count).map(key).collect();
    let keys = keys(&webhook, &serde_json::to_string(&list).unwrap()).unwrap();
    let signatures = lengths.iter().map(|length| {
        let bytes: Vec<u8> = core::iter::repeat_n(7, *length).collect();
        format!("v1a,{}", base64(&bytes))
    });
    let signatures: Vec<_> = signatures.collect();
    let signatures = signatures.join(" ");
    let headers = [
        ("webhook-id", "msg"),
        ("webhook-timestamp", NOW_S),
        ("webhook-signature", signatures.as_str()),
    ];
    let proof = webhook.verify(&keys, &delivery(&headers, b"{}"))?;
    match proof {
        Proof::Asked(questions) => Ok((questions.any_of.len(), questions.message.len())),
        Proof::Given(name) => panic!("{name} is no public key"),
    }
}

#[test]
fn what_is_no_ed25519_signature_is_not_tried_and_neither_are_too_many() {
    let text = "msg.1796025600.{}".len();
    // However many are tried, the body is there once.
    assert_eq!(of_ed25519(1, &[64]), Ok((1, text)));
    assert_eq!(of_ed25519(3, &[64, 63, 65, 0, 64]), Ok((6, text)));
    assert_eq!(of_ed25519(2, &[2, 63, 65, 128]), Err(Unbelieved::Signature));
    // Two, as while a key is being replaced, with as many keys as there can be.
    assert_eq!(of_ed25519(16, &[64, 64]), Ok((MOST_TRIED, text)));
    let many = of_ed25519(16, &[64, 64, 64]).unwrap_err();
    assert!(
        many.to_string()
            .ends_with("has more signatures than are tried"),
        "{many}"
    );
}

#[test]
fn github_signs_the_body_with_its_own_secret() {
    let webhook = webhook(r#""github""#);
    let keys = keys(&webhook, r#"[{"name":"g","secret":"0123456789abcdef"}]"#).unwrap();
    let signature = format!(
        "sha256={}",
        crate::hex::encode(&mac(b"0123456789abcdef", b"{}"))
    );
    let verify = |signature: &str, body: &str| {
        let headers = [
            ("x-hub-signature-256", signature),
            ("x-github-delivery", "g1"),
        ];
        webhook
            .verify(&keys, &delivery(&headers, body.as_bytes()))
            .map(|_| ())
    };
    assert_eq!(verify(&signature, "{}"), Ok(()));
    assert_eq!(verify(&signature, "{ }"), Err(Unbelieved::Signature));
    let other = crate::hex::encode(&mac(b"0123456789abcdeg", b"{}"));
    assert_eq!(
        verify(&format!("sha256={other}"), "{}"),
        Err(Unbelieved::Signature)
    );
    for broken in [
        &signature[7..],
        &signature.replace("sha256", "sha1"),
        &format!("{signature}, {signature}"),
        "sha256=",
    ] {
        assert!(
            matches!(verify(broken, "{}"), Err(Unbelieved::Header(..))),
            "{broken}"
        );
    }
    let headers = [("x-github-delivery", "g1, g2")];
    let event = webhook.event(&delivery(&headers, b"{}"));
    assert!(matches!(event, Err(Unbelieved::Identity(_))));
}

#[test]
fn a_time_that_is_signed_is_held_against_the_clock_whoever_signs() {
    let webhook = webhook(
        r#""hmac","tolerance_s":60,"hmac":{"header":"X-Sig","algorithm":"sha512","signed":"{id}|{timestamp}|{body}","timestamp_header":"X-Time","id_header":"X-Id"}"#,
    );
    let keys = keys(&webhook, r#"[{"name":"h","secret":"0123456789abcdef"}]"#).unwrap();
    let verify = |time: &str, id: &str, signature: &str| {
        let headers = [("x-sig", signature), ("x-time", time), ("x-id", id)];
        webhook
            .verify(&keys, &delivery(&headers, b"{}"))
            .map(|_| ())
    };
    let signature = |text: &str| {
        let mut mac = Hmac::<sha2::Sha512>::new_from_slice(b"0123456789abcdef").unwrap();
        mac.update(text.as_bytes());
        crate::hex::encode(&mac.finalize().into_bytes())
    };
    let signed = signature(&format!("e1|{NOW_S}|{{}}"));
    assert_eq!(verify(NOW_S, "e1", &signed), Ok(()));
    assert_eq!(verify(NOW_S, "e1", &signed.to_ascii_uppercase()), Ok(()));
    assert_eq!(verify(NOW_S, "e2", &signed), Err(Unbelieved::Signature));
    let old = signature("e1|1796025500|{}");
    assert_eq!(verify("1796025500", "e1", &old), Err(Unbelieved::Clock));
    for broken in [&signed[1..], "", "zz"] {
        assert!(verify(NOW_S, "e1", broken).is_err(), "{broken}");
    }
}

#[test]
fn no_bytes_move_between_the_id_and_the_body_under_one_signature() {
    let signature = |text: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"0123456789abcdef").unwrap();
        mac.update(text.as_bytes());
        crate::hex::encode(&mac.finalize().into_bytes())
    };
    let believes = |signed: &str, text: &str, id: &str, body: &str| {
        let webhook = webhook(&format!(
            r#""hmac","hmac":{{"header":"X-Sig","signed":"{signed}","id_header":"X-Id"}}"#
        ));
        let keys = keys(&webhook, r#"[{"name":"h","secret":"0123456789abcdef"}]"#).unwrap();
        let signature = signature(text);
        let headers = [("x-sig", signature.as_str()), ("x-id", id)];
        let verified = webhook.verify(&keys, &delivery(&headers, body.as_bytes()));
        verified.map(|_| ()).is_ok()
    };
    assert!(believes("{id}.{body}", "e1.a.b", "e1", "a.b"));
    assert!(!believes("{id}.{body}", "e1.a.b", "e1.a", "b"));
    assert!(believes("{body}.{id}", "a.b.e1", "e1", "a.b"));
    assert!(!believes("{body}.{id}", "a.b.e1", "b.e1", "a"));
    // A separator that overlaps itself can be found one byte earlier.
    assert!(believes("{id}--{body}", "e---b", "e", "-b"));
    assert!(!believes("{id}--{body}", "e---b", "e-", "b"));
    // Text that separates nothing may stand in an id.
    assert!(believes("v0:{id}.{body}", "v0:v0:e1.b", "v0:e1", "b"));
}
