//! Where a route's key comes from, and how its bodies are compared.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{config, orders, policy, refuses, route};
use crate::key::KeyKind;
use crate::policy::*;

#[test]
fn k1_further_header_fields_carry_one_key() {
    let further = RouteConfig {
        key_headers: Some(vec!["Idempotency-Key".into(), "X-Request-Id".into()]),
        ..orders()
    };
    let route = route(further);
    assert_eq!(route.key_headers(), ["idempotency-key", "x-request-id"]);
    let key = |headers: &[(&str, &str)]| match route.key(&Asked { headers, ..NOTHING }) {
        Ok(key) => Ok(key.unwrap().0.as_str().to_string()),
        Err(fault) => Err(fault.to_string()),
    };
    let (one, other) = ("idempotency-key", "x-request-id");
    assert_eq!(key(&[(other, "k")]).as_deref(), Ok("k"));
    assert_eq!(key(&[(one, "k"), (other, "\"k\";a=1")]).as_deref(), Ok("k"));
    assert_eq!(
        key(&[(one, "k"), (other, "l")]).unwrap_err(),
        "idempotency-key and x-request-id carry different keys"
    );
    assert!(key(&[(one, "k"), (other, "k, l")]).is_err());
}

#[test]
fn k1_names_of_key_header_fields_make_sense() {
    let named = |names: &[&str]| RouteConfig {
        key_headers: Some(names.iter().map(|name| (*name).into()).collect()),
        ..orders()
    };
    let reserved = "route 'orders': key_headers names a header field that is of one connection or the gate's own";
    refuses(vec![named(&["Oncegate-Attempt"])], reserved);
    refuses(vec![named(&["Connection"])], reserved);
    refuses(
        vec![named(&["a b"])],
        "route 'orders': key_headers names what is no header field",
    );
    refuses(
        vec![named(&["Idempotency_Key"])],
        "route 'orders': key_headers names a header field with '_', which proxies and origins drop or misread",
    );
    let empty = "route 'orders': key_headers are empty, or name a header field twice";
    refuses(vec![named(&[])], empty);
    refuses(vec![named(&["A", "a"])], empty);
    let generated = RouteConfig {
        key_headers: named(&["A"]).key_headers,
        ..generated(KeyFrom::Query("no".into()), "/pay")
    };
    refuses(
        vec![generated],
        "route 'pay': key_headers have no effect with key = \"generated\" or a webhook",
    );
}
fn generated(from: KeyFrom, path: &str) -> RouteConfig {
    RouteConfig {
        key: KeyUse::Generated,
        key_from: Some(from),
        ..config("pay", "POST", path)
    }
}

const NOTHING: Asked<'_> = Asked {
    headers: &[],
    path: "/pay",
    query: "",
    content_type: "application/json",
    body: b"",
};

#[track_caller]
fn key_of(from: KeyFrom, path: &str, asked: Asked<'_>) -> Result<String, String> {
    let policy = policy(&[generated(from, path)]);
    match policy.route(None).unwrap().key(&asked) {
        Ok(Some((key, kind))) => {
            assert_eq!(kind, KeyKind::Generated);
            Ok(key.as_str().into())
        }
        Ok(None) => Ok(String::new()),
        Err(fault) => Err(fault.to_string()),
    }
}

#[test]
fn k2_a_generated_key_is_taken_from_where_the_route_says() {
    let json = || KeyFrom::Json("/order/no".into());
    let body = br#"{"order":{"no":900719925474099312345}}"#;
    assert_eq!(
        key_of(json(), "/pay", Asked { body, ..NOTHING }).as_deref(),
        Ok("900719925474099312345")
    );

    let form = || KeyFrom::Form("pay_no".into());
    let urlencoded = Asked {
        content_type: "application/x-www-form-urlencoded",
        body: b"a=1&pay_no=P%2D7",
        ..NOTHING
    };
    assert_eq!(key_of(form(), "/pay", urlencoded).as_deref(), Ok("P-7"));
    let multipart = Asked {
        content_type: "multipart/form-data; boundary=x",
        body: b"--x\r\nContent-Disposition: form-data; name=\"pay_no\"\r\n\r\nP-8\r\n--x--\r\n",
        ..NOTHING
    };
    assert_eq!(key_of(form(), "/pay", multipart).as_deref(), Ok("P-8"));

    let path = Asked {
        path: "/orders/4%202/pay",
        ..NOTHING
    };
    assert_eq!(
        key_of(KeyFrom::Path("no".into()), "/orders/:no/pay", path).as_deref(),
        Ok("4 2")
    );
    let query = Asked {
        query: "x=1&no=42",
        ..NOTHING
    };
    assert_eq!(
        key_of(KeyFrom::Query("no".into()), "/pay", query).as_deref(),
        Ok("42")
    );
}

#[test]
fn k2_a_request_without_its_generated_key_is_refused_with_the_reason() {
    let json = |body| {
        key_of(
            KeyFrom::Json("/no".into()),
            "/pay",
            Asked { body, ..NOTHING },
        )
    };
    for body in [
        &b"{}"[..],
        b"{\"no\":null}",
        b"{\"no\":\"\"}",
        b"{\"no\":1,\"no\":2}",
        b"no",
    ] {
        assert!(json(body).unwrap_err().contains("'/no'"));
    }
    assert_eq!(
        json("{\"no\":\"订单\"}".as_bytes()).unwrap_err(),
        "only ASCII characters are allowed (character 1)"
    );
    let other = Asked {
        content_type: "text/plain",
        ..NOTHING
    };
    assert_eq!(
        key_of(KeyFrom::Form("no".into()), "/pay", other).unwrap_err(),
        "the key is a form field, and the body is no form"
    );
}

#[test]
fn k2_query_and_form_say_the_same_of_a_key_or_one_of_them_nothing() {
    let form = "application/x-www-form-urlencoded";
    let multipart = "multipart/form-data; boundary=x";
    let part = b"--x\r\nContent-Disposition: form-data; name=\"no\"\r\n\r\n2\r\n--x--\r\n";
    let ask = |from: KeyFrom, query, content_type, body| {
        let asked = Asked {
            query,
            content_type,
            body,
            ..NOTHING
        };
        key_of(from, "/pay", asked)
    };
    let query = || KeyFrom::Query("no".into());
    let field = || KeyFrom::Form("no".into());
    for (from, no, content_type, body) in [
        (query(), "no=2", form, &b"a=1"[..]),
        (query(), "no=2", form, b"no=2"),
        (query(), "no=2", multipart, part),
        (query(), "no=2", "application/json", b"no=1"),
        (field(), "a=1", form, b"no=2"),
        (field(), "no=2", multipart, part),
    ] {
        assert_eq!(
            ask(from, no, content_type, body).as_deref(),
            Ok("2"),
            "{no}"
        );
    }
    let differ = "query and form do not say the same";
    for (from, no, content_type, body, reason) in [
        (query(), "no=1", form, &b"no=2"[..], differ),
        (
            query(),
            "no=1",
            "application/x-www-form-urlencoded, a/b",
            b"no=2",
            differ,
        ),
        (query(), "no=1", multipart, part, differ),
        (field(), "no=1", form, b"no=2", differ),
        (field(), "no=1", multipart, part, differ),
        (query(), "no=1", form, b"no=1&no=1", "'no' occurs twice"),
        (query(), "no=1", form, b"no=%", "two hexadecimal digits"),
        (query(), "no=1", form, b"[no]=1&a%=2", "another spelling"),
        (
            query(),
            "no=1",
            "multipart/form-data, boundary=x",
            part,
            "Content-Type is not multipart/form-data",
        ),
        (query(), "no=1", multipart, b"--y", "'no' cannot be read"),
        (field(), "No=2", form, b"no=2", "another spelling"),
        (field(), "no=", form, b"no=2", "'no' is empty"),
    ] {
        let error = ask(from, no, content_type, body).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    // A name that does not decode is another one: neither key is in doubt.
    assert_eq!(
        ask(query(), "no=2", form, b"100%=1&no=2").as_deref(),
        Ok("2")
    );
    assert_eq!(ask(field(), "a%zz=1", form, b"no=2").as_deref(), Ok("2"));
}

#[test]
fn k2_json_that_is_sent_as_a_form_has_no_key() {
    let json = || KeyFrom::Json("/no".into());
    let asked = |content_type| Asked {
        content_type,
        body: b"{\"no\":1,\"a\":\"&no=2&\"}",
        ..NOTHING
    };
    for form in [
        "application/x-www-form-urlencoded",
        "Application/X-WWW-Form-Urlencoded , a",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
    ] {
        let error = key_of(json(), "/pay", asked(form)).unwrap_err();
        assert!(error.contains("by its Content-Type the body is a form"));
    }
    for other in ["application/json", "text/plain", ""] {
        assert_eq!(key_of(json(), "/pay", asked(other)).as_deref(), Ok("1"));
    }
}

#[test]
fn k2_what_is_not_utf_8_by_its_content_type_has_no_generated_key() {
    let urlencoded = "application/x-www-form-urlencoded";
    for (from, of_type, body) in [
        (KeyFrom::Form("no".into()), urlencoded, &b"no=7"[..]),
        (KeyFrom::Query("no".into()), urlencoded, b"a=1"),
        (
            KeyFrom::Json("/no".into()),
            "application/json",
            b"{\"no\":7}",
        ),
        (KeyFrom::Path("no".into()), "text/plain", b"no=8"),
    ] {
        let is_in_path = matches!(from, KeyFrom::Path(_));
        for (charset, is_read) in [
            ("", true),
            ("; charset=UTF-8", true),
            ("; charset=utf-16", is_in_path),
            ("; charset=utf-8; charset=ibm037", is_in_path),
        ] {
            let asked = Asked {
                path: "/pay/7",
                query: "no=7",
                content_type: &[of_type, charset].concat(),
                body,
                ..NOTHING
            };
            match key_of(from.clone(), "/pay/:no", asked) {
                Ok(key) => assert!(is_read && key == "7", "{of_type}{charset}"),
                Err(error) => assert!(!is_read && error.contains("not UTF-8"), "{error}"),
            }
        }
    }
}

#[test]
fn k2_a_key_in_the_header_is_the_clients() {
    let policy = policy(&[orders()]);
    let route = policy.route(None).unwrap();
    let asked = |headers| route.key(&Asked { headers, ..NOTHING });
    let (key, kind) = asked(&[("idempotency-key", "k")]).unwrap().unwrap();
    assert_eq!((key.as_str(), kind), ("k", KeyKind::Client));
    assert!(matches!(asked(&[]), Err(KeyFault::Missing(_))));
    let list = &[("idempotency-key", "a, b")];
    assert!(matches!(asked(list), Err(KeyFault::Invalid(_))));
    let optional = RouteConfig {
        key: KeyUse::Optional,
        ..orders()
    };
    assert!(matches!(self::route(optional).key(&NOTHING), Ok(None)));
}

#[test]
fn k2_where_the_key_comes_from_must_make_sense() {
    refuses(
        vec![RouteConfig {
            key_from: None,
            ..generated(KeyFrom::Query("no".into()), "/pay")
        }],
        "route 'pay': key_from is missing; a generated key comes from json, form, path or query",
    );
    refuses(
        vec![RouteConfig {
            key: KeyUse::Required,
            ..generated(KeyFrom::Query("no".into()), "/pay")
        }],
        "route 'pay': key_from goes with key = \"generated\"",
    );
    refuses(
        vec![generated(KeyFrom::Path("no".into()), "/pay/:id")],
        "route 'pay': key_from names a segment that the path does not have",
    );
    let pointer = generated(KeyFrom::Json("no".into()), "/pay");
    assert!(Policy::new(&[pointer], false).is_err());
    refuses(
        vec![RouteConfig {
            fingerprint_ignore: vec!["/csrf".into()],
            ..orders()
        }],
        "route 'orders': fingerprint_ignore goes with fingerprint = \"json\"",
    );
}

#[test]
fn k3_json_bodies_are_compared_by_what_they_say() {
    let json = RouteConfig {
        fingerprint: FingerprintMode::Json,
        fingerprint_ignore: vec!["/csrf".into()],
        ..orders()
    };
    let policy = policy(&[json, config("raw", "POST", "/raw")]);
    let [by_value, raw] = ["orders", "raw"].map(|name| policy.route(Some(name)).unwrap());
    let digest =
        |body: &str| by_value.body_digest("application/json; charset=utf-8", body.as_bytes());
    let one = digest("{\"a\":1.0,\"b\":[],\"csrf\":\"x\"}");
    assert!(one.is_some());
    assert_eq!(one, digest(" {\"b\":[ ],\"a\":1,\"csrf\":\"y\"}"));
    assert_ne!(one, digest("{\"a\":2,\"b\":[]}"));
    // What is no JSON, or does not say that it is, counts byte by byte.
    assert_eq!(digest("{"), None);
    assert_eq!(by_value.body_digest("text/plain", b"{}"), None);
    assert_eq!(raw.body_digest("application/json", b"{}"), None);
}

#[test]
fn k3_multipart_bodies_are_compared_by_their_parts() {
    let policy = policy(&[orders()]);
    let digest = |boundary: &str, value: &str| {
        let content_type = format!("multipart/form-data; boundary={boundary}");
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{value}\r\n--{boundary}--\r\n"
        );
        policy
            .route(None)
            .unwrap()
            .body_digest(&content_type, body.as_bytes())
    };
    assert!(digest("x", "1").is_some());
    assert_eq!(digest("x", "1"), digest("y", "1"));
    assert_ne!(digest("x", "1"), digest("x", "2"));
}

#[test]
fn k2_a_route_that_takes_tokens_takes_no_other_key() {
    let read = |settings: &str| {
        let json = format!(
            r#"{{"name":"r","methods":["POST"],"path":"/pay","origin":"ledger",{settings}}}"#
        );
        let route = Route::new(&serde_json::from_str(&json).unwrap(), false);
        route.map(|route| route.token_ttl_ms)
    };
    let refused = |settings| read(settings).unwrap_err().to_string();
    assert_eq!(read(r#""key":"required""#), Ok(None));
    assert_eq!(read(r#""token":"required""#), Ok(Some(300_000)));
    let longer = r#""token":"required","token_ttl_s":600"#;
    assert_eq!(read(longer), Ok(Some(600_000)));
    for (settings, reason) in [
        (
            r#""token_ttl_s":60"#,
            "token_ttl_s goes with token = \"required\"",
        ),
        (
            r#""token":"required","key":"optional""#,
            "token goes with key = \"required\": the token is the key",
        ),
        (
            r#""token":"required","token_ttl_s":0"#,
            "token_ttl_s must be at least 1",
        ),
        (
            r#""token":"required","token_ttl_s":604801"#,
            "token_ttl_s is longer than key_ttl_s",
        ),
    ] {
        assert_eq!(refused(settings), format!("route 'r': {reason}"));
    }
}
