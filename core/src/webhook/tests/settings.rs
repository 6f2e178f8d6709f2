//! What a route may say of its sender.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::policy::{Policy, RouteConfig};

#[track_caller]
fn refuses(settings: &str, message: &str) {
    let error = read(settings).unwrap_err();
    assert!(error.starts_with(message), "{error}");
}

#[test]
fn a_sender_has_its_own_rules() {
    let deadlines = |sender: &str| webhook(sender).deadline_ms();
    assert_eq!(deadlines(r#""wechat""#), 4_500);
    assert_eq!(deadlines(r#""github""#), 9_000);
    refuses(r#""paypal""#, "unknown variant `paypal`");
    refuses(
        r#""github","tolerance_s":300"#,
        "tolerance_s: what is signed has no time",
    );
    refuses(
        r#""stripe","tolerance_s":0"#,
        "tolerance_s: must be at least 1",
    );
    refuses(
        r#""stripe","tolerance_s":604801"#,
        "tolerance_s: must be at most 604800",
    );
    refuses(
        r#""stripe","hmac":{"header":"X"}"#,
        "hmac: goes with sender = \"hmac\"",
    );
    refuses(r#""hmac""#, "hmac: is missing");
}

#[test]
fn what_is_signed_is_said_with_the_time_or_without_it() {
    let hmac = |more: &str| format!(r#""hmac","hmac":{{"header":"X-Sig"{more}}}"#);
    assert!(read(&hmac("")).is_ok());
    refuses(
        &hmac(r#","signed":"{timestamp}.x""#),
        "hmac: signed has no {body}",
    );
    refuses(&hmac(r#","signed":"{time}.{body}""#), "hmac: signed knows");
    let unsigned = r#","timestamp_header":"X-Time""#;
    refuses(&hmac(unsigned), "hmac: signed has {timestamp} if");
    refuses(
        &hmac(r#","signed":"{id}{body}""#),
        "hmac: signed has {id}, and there is no id_header",
    );
    refuses(
        &hmac(r#","success":"ok""#),
        "hmac: success and fail go together",
    );
    refuses(&hmac(r#","id_header":"Host""#), "hmac.id_header names");
    for signed in ["{id}{body}", "{body}{id}", "{id}{timestamp}.{body}"] {
        let named =
            format!(r#","signed":"{signed}","id_header":"X-Id","timestamp_header":"X-Time""#);
        let named = match signed.contains("time") {
            true => named,
            false => named.replace(r#","timestamp_header":"X-Time""#, ""),
        };
        refuses(&hmac(&named), "hmac: signed has text between {id} and");
    }
}

fn route(settings: &str) -> Result<Policy, String> {
    let json = format!(
        r#"[{{"name":"r","methods":["POST"],"path":"/hook","origin":"ledger",{settings}}}]"#
    );
    let routes: Vec<RouteConfig> =
        serde_json::from_str(&json).map_err(|error| error.to_string())?;
    Policy::new(&routes, false).map_err(|error| error.to_string())
}

#[test]
fn k2_a_webhooks_key_is_its_events_identity_and_nothing_else() {
    let stripe = r#""webhook":{"sender":"stripe"}"#;
    let policy = route(stripe).unwrap();
    let found = policy.route(None).unwrap();
    assert!(found.generates_key() && !found.is_optional());
    assert_eq!((found.wait_ms, found.client_timeout_ms), (9_000, 9_000));
    let hmac = r#""webhook":{"sender":"hmac","hmac":{"header":"X-Sig"}}"#;
    let from = r#""key_from":{"json":"/id"}"#;
    assert!(route(&format!("{hmac},{from}")).is_ok());
    let refused = |settings: String, message: &str| {
        let error = route(&settings).unwrap_err();
        let whole = format!("route 'r': {message}");
        assert!(error.starts_with(&whole), "{error}");
    };
    refused(
        hmac.into(),
        "key_from is missing: say where the event's identity is",
    );
    refused(format!("{stripe},{from}"), "key_from has no effect here");
    refused(
        format!(r#"{stripe},"key":"optional""#),
        "key has no effect with webhook",
    );
    refused(
        format!(r#"{stripe},"key_headers":["X-Id"]"#),
        "key_headers have no effect",
    );
    refused(
        format!(r#"{stripe},"bind":{{"header":"X-User"}}"#),
        "bind has no effect with webhook",
    );
    refused(
        format!(r#"{stripe},"fingerprint":"json""#),
        "fingerprint has no effect with webhook",
    );
    refused(
        format!(r#"{stripe},"stream":true"#),
        "stream has no effect with webhook",
    );
    refused(
        r#""webhook":{"sender":"github","tolerance_s":1}"#.into(),
        "webhook: tolerance_s: what is signed",
    );
    let put = r#"[{"name":"r","methods":["PUT"],"path":"/h","origin":"ledger","webhook":{"sender":"stripe"}}]"#;
    let put: Vec<RouteConfig> = serde_json::from_str(put).unwrap();
    let error = Policy::new(&put, false).unwrap_err().to_string();
    assert_eq!(
        error,
        "route 'r': methods must be [\"POST\"]: events are posted"
    );
}
