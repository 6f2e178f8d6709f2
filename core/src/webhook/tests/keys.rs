//! Secrets, public keys and certificates: what is taken, and when each is valid.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::webhook::date::span_ms;
use crate::webhook::keys::PublicKey;

const CERTIFICATE: &str = include_str!("keys/certificate.pem");
const RSA: &str = include_str!("keys/rsa.pem");
const SHORT: &str = include_str!("keys/short.pem");
/// Of 2040 bits.
const NEARLY: &str = include_str!("keys/nearly.pem");
const EC: &str = include_str!("keys/ec.pem");

const APIV3: &str = r#"{"name":"apiv3","secret":"0123456789abcdef0123456789abcdef"}"#;

fn of(sender: &str, list: &[serde_json::Value]) -> Result<Keys, String> {
    keys(&webhook(sender), &serde_json::to_string(list).unwrap())
}

fn apiv3() -> serde_json::Value {
    serde_json::from_str(APIV3).unwrap()
}

#[track_caller]
fn refuses(sender: &str, list: &[serde_json::Value], message: &str) {
    assert_eq!(of(sender, list).unwrap_err(), message);
}

#[test]
fn a_certificate_brings_its_key_its_serial_number_and_its_dates() {
    let certificate = serde_json::json!({"name": "c", "certificate": CERTIFICATE});
    let keys = of(r#""wechat""#, &[apiv3(), certificate]).unwrap();
    let until = span_ms("2027-11-30T08:41:33Z").unwrap().0;
    assert_eq!(keys.end_ms(NOW_MS + 86_400_000), Some(until));
    let public = |now_ms| {
        let found = keys.public(now_ms).map(|(credential, key)| {
            assert!(credential.has_serial("b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5"));
            key.clone()
        });
        found.collect::<Vec<_>>()
    };
    let plain = of(
        r#""alipay""#,
        &[serde_json::json!({"name": "p", "public_key": RSA})],
    )
    .unwrap();
    let plain: Vec<&PublicKey> = plain.public(0).map(|(_, key)| key).collect();
    let from = span_ms("2026-11-30T08:41:33Z").unwrap().0;
    assert_eq!(public(from), [plain[0].clone()]);
    assert_eq!(public(until).len(), 1);
    assert!(public(from - 1).is_empty() && public(until + 1).is_empty());
}

#[test]
fn a_key_is_taken_in_the_spelling_of_its_sender() {
    let bare: String = RSA.lines().filter(|line| !line.starts_with('-')).collect();
    assert!(
        of(
            r#""alipay""#,
            &[serde_json::json!({"name": "p", "public_key": bare})]
        )
        .is_ok()
    );
    let ed25519 = format!("whpk_{}", base64(&[7; 32]));
    assert!(
        of(
            r#""standard""#,
            &[serde_json::json!({"name": "e", "public_key": ed25519})]
        )
        .is_ok()
    );
    for key in [SHORT, NEARLY, EC, "", "AAAA", CERTIFICATE] {
        refuses(
            r#""alipay""#,
            &[serde_json::json!({"name": "p", "public_key": key})],
            "key 'p': public_key is no RSA key of 2048 bits or more",
        );
    }
    refuses(
        r#""wechat""#,
        &[serde_json::json!({"name": "c", "certificate": RSA})],
        "key 'c': certificate cannot be read",
    );
}

#[test]
fn what_is_of_no_use_to_a_sender_is_refused_by_name_and_never_shown() {
    let key =
        |name: &str, field: &str, value: &str| serde_json::json!({"name": name, field: value});
    refuses(r#""stripe""#, &[], "needs a key");
    refuses(
        r#""stripe""#,
        &[key("a", "secret", "hunter2")],
        "key 'a': secret has 7 characters and needs 16",
    );
    refuses(
        r#""stripe""#,
        &[key("a b", "secret", "0123456789abcdef")],
        "key 'a b': name has letters, digits, '-', '_' and '.'",
    );
    let twice = key("a", "secret", "0123456789abcdef");
    refuses(
        r#""github""#,
        &[twice.clone(), twice],
        "key 'a': name is an earlier one's",
    );
    refuses(
        r#""standard""#,
        &[key("a", "secret", "whsec_hunter2!")],
        "key 'a': secret is not whsec_ and the base64 of 24 to 64 bytes",
    );
    refuses(
        r#""github""#,
        &[key("a", "public_key", RSA)],
        "key 'a': public_key is of no use to this sender, which signs with a secret",
    );
    refuses(
        r#""alipay""#,
        &[key("a", "secret", "0123456789abcdef")],
        "key 'a': secret is of no use to Alipay, which signs with RSA2",
    );
    refuses(
        r#""wechat""#,
        &[key("a", "public_key", RSA)],
        "key 'a': serial is missing: the id of the public key, PUB_KEY_ID_…",
    );
    refuses(
        r#""wechat""#,
        &[key("a", "secret", "0123456789abcdef")],
        "key 'a': secret is no APIv3 key, which has 32 characters",
    );
    refuses(
        r#""wechat""#,
        &[apiv3()],
        "needs a public_key with its serial, or a certificate, of WeChat Pay's",
    );
    refuses(
        r#""stripe""#,
        &[serde_json::json!({"name": "a"})],
        "key 'a': needs secret, public_key or certificate, and only one of them",
    );
    refuses(
        r#""stripe""#,
        &[serde_json::json!({"name": "a", "secret": "0123456789abcdef", "serial": "1"})],
        "key 'a': serial goes with a public_key of WeChat Pay",
    );
    let shown = format!(
        "{:?}",
        of(
            r#""wechat""#,
            &[
                apiv3(),
                serde_json::json!({"name": "c", "certificate": CERTIFICATE})
            ]
        )
    );
    assert!(!shown.contains("0123456789abcdef"), "{shown}");
}

#[test]
fn dates_are_dates_and_in_order() {
    let key = |from: &str, until: &str| {
        [
            serde_json::json!({"name": "a", "secret": "0123456789abcdef", "not_before": from, "not_after": until}),
        ]
    };
    refuses(
        r#""stripe""#,
        &key("tomorrow", "2027-01-01"),
        "key 'a': not_before is no date such as 2027-01-31 or 2027-01-31T12:00:00Z",
    );
    refuses(
        r#""stripe""#,
        &key("2027-01-02", "2027-01-01"),
        "key 'a': not_after is before not_before",
    );
    assert!(of(r#""stripe""#, &key("2027-01-01", "2027-01-01")).is_ok());
}

#[test]
fn somebody_is_told_before_the_last_key_ends() {
    let key = |name: &str, until: Option<&str>| serde_json::json!({"name": name, "secret": "0123456789abcdef", "not_after": until});
    let ends = |list: &[serde_json::Value]| of(r#""stripe""#, list).unwrap();
    let soon = ends(&[key("a", Some("2026-12-05"))]);
    assert!(soon.end_soon(NOW_MS));
    assert!(!soon.end_soon(span_ms("2026-11-01").unwrap().0));
    // The next one is there already.
    assert!(!ends(&[key("a", Some("2026-12-05")), key("b", Some("2027-12-05"))]).end_soon(NOW_MS));
    assert!(!ends(&[key("a", Some("2026-12-05")), key("b", None)]).end_soon(NOW_MS));
    assert_eq!(ends(&[key("a", None)]).end_ms(NOW_MS), None);
    // Both kinds are needed.
    let apiv3 = serde_json::json!({"name": "s", "secret": "0123456789abcdef0123456789abcdef", "not_after": "2026-12-05"});
    let public = serde_json::json!({"name": "p", "public_key": RSA, "serial": "PUB"});
    assert!(
        of(r#""wechat""#, &[apiv3, public])
            .unwrap()
            .end_soon(NOW_MS)
    );
}

#[test]
fn where_one_kind_is_enough_the_end_of_the_other_is_no_trouble() {
    let list = |secret_ends: Option<&str>, public_ends: Option<&str>| {
        let secret = format!("whsec_{}", base64(&[7; 24]));
        let public = format!("whpk_{}", base64(&[7; 32]));
        [
            serde_json::json!({"name": "s", "secret": secret, "not_after": secret_ends}),
            serde_json::json!({"name": "p", "public_key": public, "not_after": public_ends}),
        ]
    };
    let soon = Some("2026-12-05");
    let ends_soon = |secret, public| {
        let keys = of(r#""standard""#, &list(secret, public)).unwrap();
        keys.end_soon(NOW_MS)
    };
    assert!(!ends_soon(None, soon));
    assert!(!ends_soon(soon, None));
    assert!(!ends_soon(soon, Some("2027-12-05")));
    assert!(ends_soon(soon, Some("2026-12-10")));
}

#[test]
fn somebody_is_told_of_a_time_between_two_keys() {
    let key = |name: &str, from: Option<&str>, until: Option<&str>| serde_json::json!({"name": name, "secret": "0123456789abcdef", "not_before": from, "not_after": until});
    let end = |list: &[serde_json::Value]| of(r#""stripe""#, list).unwrap().end_ms(NOW_MS);
    let first = || key("a", None, Some("2026-12-05"));
    let last_ms = span_ms("2026-12-05").unwrap().1;
    assert_eq!(
        end(&[key("b", Some("2026-12-07"), None), first()]),
        Some(last_ms)
    );
    // The next one begins when the one before ends.
    assert_eq!(end(&[key("b", Some("2026-12-06"), None), first()]), None);
    // None is valid now: since when stays known, however late somebody asks.
    let ended = of(
        r#""stripe""#,
        &[key("b", Some("2027-12-07"), None), first()],
    )
    .unwrap();
    assert_eq!(ended.end_ms(last_ms + 1), Some(last_ms));
    assert_eq!(ended.end_ms(last_ms + 86_400_000), Some(last_ms));
    // None was ever.
    assert_eq!(end(&[key("b", Some("2026-12-06"), None)]), Some(NOW_MS - 1));
}

#[test]
fn a_route_has_no_more_keys_than_are_tried() {
    let list: Vec<_> = (0..17)
        .map(|number| serde_json::json!({"name": format!("k{number}"), "secret": "0123456789abcdef"}))
        .collect();
    assert!(of(r#""stripe""#, &list[..16]).is_ok());
    refuses(
        r#""stripe""#,
        &list,
        "has 17 keys, and at most 16 are tried",
    );
}
