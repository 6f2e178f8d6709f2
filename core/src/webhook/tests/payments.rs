//! Whatever is changed in what payment providers send, is not believed either.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::documented::{alipay, form, wechat};
use super::*;

#[test]
fn a_form_of_alipays_has_one_reading() {
    let (webhook, keys) = alipay();
    let verify = |body: &[u8]| webhook.verify(&keys, &form(body)).map(|_| ());
    let whole = b"a=1&utc_timestamp=1796025600000&sign_type=RSA2&sign=q80%3D";
    assert_eq!(verify(whole), Ok(()));
    assert_eq!(
        verify(b"a=1&%61=1&sign_type=RSA2&sign=q80%3D"),
        Err(Unbelieved::Form)
    );
    assert_eq!(
        verify(b"a=1&sign_type=RSA2&sign=q80%3D&sign=x"),
        Err(Unbelieved::Form)
    );
    assert_eq!(
        verify(b"a=%zz&sign_type=RSA2&sign=q80%3D"),
        Err(Unbelieved::Form)
    );
    for weak in [
        &b"a=1&sign_type=RSA&sign=q80%3D"[..],
        b"a=1&sign_type=MD5&sign=q80%3D",
        b"a=1&sign=q80%3D",
        b"a=1&sign_type=RSA2",
        b"a=1&sign_type=RSA2&sign=*",
    ] {
        assert_eq!(verify(weak), Err(Unbelieved::Signature));
    }
    let json = Delivery {
        content_type: "application/json",
        ..form(whole)
    };
    assert_eq!(webhook.verify(&keys, &json).unwrap_err(), Unbelieved::Form);
}

#[test]
fn no_field_of_alipays_is_hidden_in_another() {
    let (webhook, keys) = alipay();
    let verify = |fields: &str| {
        let body = format!("{fields}&utc_timestamp={NOW_MS}&sign_type=RSA2&sign=q80%3D");
        webhook.verify(&keys, &form(body.as_bytes())).map(|_| ())
    };
    // All of these have one text to be signed: `a=1&notify_id=n&subject=x&total_amount=2`.
    assert_eq!(verify("a=1&notify_id=n&subject=x&total_amount=2"), Ok(()));
    for moved in [
        "a=1%26notify_id%3Dn&subject=x&total_amount=2",
        "a=1&notify_id=n&subject=x%26total_amount%3D2",
        "a%3D1%26notify_id=n&subject=x&total_amount=2",
        "a%3D1%26notify_id%3Dn%26subject=x&total_amount=2",
    ] {
        assert_eq!(verify(moved), Err(Unbelieved::Form), "{moved}");
    }
    // Signs that a text may well have.
    assert_eq!(
        verify("passback_params=a%3D1%26b%3D2&subject=T%26C+1%3D2"),
        Ok(())
    );
}

#[test]
fn wechat_pay_is_verified_by_no_other_key_than_it_names() {
    let (webhook, keys) = wechat();
    let verify = |serial: &str, time: &str, signature: &str| {
        let headers = [
            ("wechatpay-timestamp", time),
            ("wechatpay-nonce", "n"),
            ("wechatpay-serial", serial),
            ("wechatpay-signature", signature),
        ];
        webhook
            .verify(&keys, &delivery(&headers, b"{}"))
            .map(|_| ())
    };
    assert_eq!(verify("PUB_KEY_ID_0116", NOW_S, "q80="), Ok(()));
    for other in ["PUB_KEY_ID_0117", "", "PUB_KEY_ID_0116, PUB_KEY_ID_0116"] {
        assert_eq!(verify(other, NOW_S, "q80="), Err(Unbelieved::Key));
    }
    assert_eq!(
        verify("PUB_KEY_ID_0116", "1796025000", "q80="),
        Err(Unbelieved::Clock)
    );
    // What WeChat Pay sends to find out whether somebody verifies.
    let probe = verify("PUB_KEY_ID_0116", NOW_S, "WECHATPAY/SIGNTEST/q80=");
    assert!(
        probe.is_err() || probe == Ok(()),
        "decided by the platform if it is base64"
    );
    let sealed = |resource: &str| {
        let body =
            format!(r#"{{"id":"n","event_type":"TRANSACTION.SUCCESS","resource":{resource}}}"#);
        webhook.event(&delivery(&[], body.as_bytes())).map(|_| ())
    };
    assert_eq!(
        sealed(r#"{"algorithm":"NONE","nonce":"0123456789ab","ciphertext":"q80="}"#),
        Err(Unbelieved::Seal)
    );
    assert_eq!(
        sealed(r#"{"algorithm":"AEAD_AES_256_GCM","nonce":"short","ciphertext":"q80="}"#),
        Err(Unbelieved::Seal)
    );
    assert!(matches!(sealed("{}"), Err(Unbelieved::Content(_))));
}
