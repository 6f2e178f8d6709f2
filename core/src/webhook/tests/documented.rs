//! The senders' own examples, and what follows from their descriptions.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

#[test]
fn githubs_example_verifies_and_is_known_by_its_delivery() {
    let webhook = webhook(r#""github""#);
    let keys = keys(
        &webhook,
        r#"[{"name":"docs","secret":"It's a Secret to Everybody"}]"#,
    )
    .unwrap();
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let headers = [
        ("x-hub-signature-256", signature),
        ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
    ];
    let delivery = delivery(&headers, b"Hello, World!");
    assert_eq!(name(webhook.verify(&keys, &delivery)), Ok("docs"));
    assert_eq!(
        key(webhook.event(&delivery)),
        "72d3162e-cc78-11e3-81ab-4c9367dc0958"
    );
}

#[test]
fn the_example_of_standard_webhooks_verifies_at_its_time() {
    let webhook = webhook(r#""standard""#);
    let secret = r#"[{"name":"s","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}]"#;
    let keys = keys(&webhook, secret).unwrap();
    let headers = [
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        (
            "webhook-signature",
            "v0,x v1a,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        ),
    ];
    let mut delivery = delivery(&headers, br#"{"test": 2432232314}"#);
    assert_eq!(
        name(webhook.verify(&keys, &delivery)),
        Err(Unbelieved::Clock)
    );
    delivery.now_ms = 1_614_265_330_000 + 300_000;
    assert_eq!(name(webhook.verify(&keys, &delivery)), Ok("s"));
    assert_eq!(
        key(webhook.event(&delivery)),
        "msg_p5jXN8AQM9LWM0D4loKWxJek"
    );
}

#[test]
fn stripe_signs_the_time_and_the_body_and_may_sign_more_than_once() {
    let (webhook, keys) = stripe();
    let body = r#"{"id":"evt_1","type":"charge.succeeded"}"#;
    let signature = stripe_signature(NOW_S, body);
    let rotated = signature.replace(
        ",v1=",
        ",v0=abc,v1=00000000000000000000000000000000000000000000000000000000000000ff,v1=",
    );
    for header in [signature, rotated] {
        let headers = [("stripe-signature", header.as_str())];
        let delivery = delivery(&headers, body.as_bytes());
        assert_eq!(name(webhook.verify(&keys, &delivery)), Ok("a"));
        assert_eq!(key(webhook.event(&delivery)), "evt_1");
    }
}

#[test]
fn a_sender_that_signs_as_slack_or_shopify_does_is_a_matter_of_settings() {
    let slack = webhook(
        r#""hmac","hmac":{"header":"X-Slack-Signature","prefix":"v0=","signed":"v0:{timestamp}:{body}","timestamp_header":"X-Slack-Request-Timestamp"}"#,
    );
    // The example of its documentation.
    let known = keys(
        &slack,
        r#"[{"name":"a","secret":"8f742231b10e8888abcd99yyyzzz85a5"}]"#,
    )
    .unwrap();
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let headers = [
        (
            "x-slack-signature",
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        ),
        ("x-slack-request-timestamp", "1531420618"),
    ];
    let mut sent = delivery(&headers, body.as_bytes());
    sent.now_ms = 1_531_420_618_000;
    assert_eq!(name(slack.verify(&known, &sent)), Ok("a"));
    assert!(slack.needs_key_from());

    let shopify = webhook(
        r#""hmac","hmac":{"header":"X-Shopify-Hmac-Sha256","encoding":"base64","id_header":"X-Shopify-Webhook-Id"}"#,
    );
    let known = keys(&shopify, r#"[{"name":"b","secret":"0123456789abcdef"}]"#).unwrap();
    let signature = base64(&mac(b"0123456789abcdef", b"{}"));
    let headers = [
        ("x-shopify-hmac-sha256", signature.as_str()),
        ("x-shopify-webhook-id", "b54557e4"),
    ];
    let sent = delivery(&headers, b"{}");
    assert_eq!(name(shopify.verify(&known, &sent)), Ok("b"));
    assert_eq!(key(shopify.event(&sent)), "b54557e4");
}

const RSA: &str = include_str!("keys/rsa.pem");

pub(super) fn asked<'k>(proof: Result<Proof<'k>, Unbelieved>) -> Questions<'k> {
    match proof.unwrap() {
        Proof::Asked(questions) => questions,
        Proof::Given(name) => panic!("{name} is no public key"),
    }
}

pub(super) fn alipay() -> (Webhook, Keys) {
    let webhook = webhook(r#""alipay""#);
    let json = serde_json::json!([{"name": "alipay", "public_key": RSA}]);
    let keys = keys(&webhook, &json.to_string()).unwrap();
    (webhook, keys)
}

pub(super) fn form(body: &[u8]) -> Delivery<'_> {
    Delivery {
        content_type: "application/x-www-form-urlencoded; charset=utf-8",
        ..delivery(&[], body)
    }
}

#[test]
fn alipay_signs_the_decoded_fields_in_the_order_of_their_names() {
    let (webhook, keys) = alipay();
    let body = b"trade_status=TRADE_SUCCESS&total_amount=2.00&subject=%E5%A4%A7%E4%B9%90+2%2B1&sign_type=RSA2&sign=q80%3D&notify_id=n1&notify_time=2026-11-30+16%3A00%3A00&empty=&trade_no=7";
    let delivery = form(body);
    let questions = asked(webhook.verify(&keys, &delivery));
    let message = "empty=&notify_id=n1&notify_time=2026-11-30 16:00:00&subject=大乐 2+1&total_amount=2.00&trade_no=7&trade_status=TRADE_SUCCESS";
    assert_eq!(questions.message, message.as_bytes());
    let [question] = questions.any_of.as_slice() else {
        panic!("there is one key")
    };
    assert_eq!(
        (question.name, question.signature.as_slice()),
        ("alipay", &[0xab, 0xcd][..])
    );
    assert_eq!(key(webhook.event(&delivery)), "n1");
    let older = form(b"trade_no=7&trade_status=TRADE_CLOSED");
    assert_eq!(key(webhook.event(&older)), "7:TRADE_CLOSED");
}

#[test]
fn alipays_own_repetition_is_not_too_old_and_a_charset_is_bytes() {
    let (webhook, keys) = alipay();
    // GBK, as it was sent 25 hours ago.
    let body = b"notify_time=2026-11-29+15%3A00%3A00&subject=%B4%F3&charset=GBK&sign_type=RSA2&sign=q80%3D";
    let questions = asked(webhook.verify(&keys, &form(body)));
    assert_eq!(
        questions.message,
        b"charset=GBK&notify_time=2026-11-29 15:00:00&subject=\xb4\xf3"
    );
    let old = b"notify_time=2026-11-27+15%3A00%3A00&sign_type=RSA2&sign=q80%3D";
    let proof = webhook.verify(&keys, &form(old));
    assert_eq!(proof.unwrap_err(), Unbelieved::Clock);
}

#[test]
fn a_form_of_alipays_says_when_it_was_sent() {
    let (webhook, keys) = alipay();
    let verify = |time: &str| {
        let body = format!("{time}notify_id=n1&sign_type=RSA2&sign=q80%3D");
        let proof = webhook.verify(&keys, &form(body.as_bytes()));
        proof.map(|_| ())
    };
    // Messages of its gateway say it in milliseconds.
    assert_eq!(verify(&format!("utc_timestamp={NOW_MS}&")), Ok(()));
    assert_eq!(verify("notify_time=2026-11-30+16%3A00%3A00&"), Ok(()));
    assert_eq!(verify(""), Err(Unbelieved::Undated));
    for wrong in [
        "utc_timestamp=1795800000000&",
        "utc_timestamp=+1796025600000&",
        "utc_timestamp=9999999999999999999999&",
        "utc_timestamp=&",
        "notify_time=&",
        "notify_time=1970-01-01+07%3A00%3A00&",
        "notify_time=today&utc_timestamp=1796025600000&",
    ] {
        assert_eq!(verify(wrong), Err(Unbelieved::Clock), "{wrong}");
    }
}

pub(super) fn wechat() -> (Webhook, Keys) {
    let webhook = webhook(r#""wechat""#);
    let json = serde_json::json!([
        {"name": "apiv3", "secret": "0123456789abcdef0123456789abcdef"},
        {"name": "pub", "public_key": RSA, "serial": "PUB_KEY_ID_0116"},
    ]);
    let keys = keys(&webhook, &json.to_string()).unwrap();
    (webhook, keys)
}

#[test]
fn wechat_pay_signs_time_nonce_and_body_with_the_key_that_it_names() {
    let (webhook, keys) = wechat();
    let headers = [
        ("wechatpay-timestamp", NOW_S),
        ("wechatpay-nonce", "n0nce"),
        ("wechatpay-serial", "pub_key_id_0116"),
        ("wechatpay-signature", "q80="),
    ];
    let questions = asked(webhook.verify(&keys, &delivery(&headers, b"{}")));
    assert_eq!(
        questions.message,
        format!("{NOW_S}\nn0nce\n{{}}\n").as_bytes()
    );
    assert_eq!(questions.any_of[0].name, "pub");
}

#[test]
fn wechat_pays_event_is_known_by_what_it_is_about() {
    let (webhook, _) = wechat();
    let identity = |event_type: &str, opened: &str| {
        let body = format!(
            r#"{{"id":"note-1","event_type":"{event_type}","resource":{{"algorithm":"AEAD_AES_256_GCM","nonce":"0123456789ab","associated_data":"","ciphertext":"q80="}}}}"#
        );
        let Ok(Event::Sealed(sealed)) = webhook.event(&delivery(&[], body.as_bytes())) else {
            panic!("it is sealed")
        };
        assert_eq!((sealed.context.len(), sealed.bytes.len()), (0, 2));
        let key = sealed.identity(opened.as_bytes());
        key.map(|key| key.as_str().to_string())
    };
    let paid = r#"{"transaction_id":"42","out_trade_no":"o1"}"#;
    assert_eq!(
        identity("TRANSACTION.SUCCESS", paid).as_deref(),
        Ok("TRANSACTION.SUCCESS:42")
    );
    let refund = r#"{"transaction_id":"42","refund_id":"r1"}"#;
    assert_eq!(
        identity("REFUND.SUCCESS", refund).as_deref(),
        Ok("REFUND.SUCCESS:r1")
    );
    assert_eq!(
        identity("TRANSACTION.SUCCESS", r#"{"out_trade_no":"o1"}"#).as_deref(),
        Ok("TRANSACTION.SUCCESS:o1")
    );
    // Several of these concern one payment.
    assert_eq!(
        identity("PROFITSHARING", paid).as_deref(),
        Ok("PROFITSHARING:note-1")
    );
    assert!(identity("REFUND.CLOSED", "{}").is_err());
}

#[test]
fn k3_an_event_has_the_fingerprint_of_every_event() {
    assert_eq!(Webhook::fingerprint(), Webhook::fingerprint());
    assert_ne!(Webhook::fingerprint(), Fingerprint::NONE);
}
