use alloc::string::{String, ToString};

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::key::{Key, MAX_LENGTH};

const NOW_MS: u64 = 1_900_000_000_123;
const LIFETIME: Lifetime = Lifetime {
    issued_ms: NOW_MS,
    ttl_ms: 300_000,
    key_ttl_ms: 604_800_000,
};

fn secrets(text: &str) -> Secrets {
    Secrets::parse(text).unwrap()
}

fn one() -> Secrets {
    secrets("s1=0123456789abcdef")
}

fn holder<'a>(scope: &'a str, route: &'a str, user: Option<&str>) -> Holder<'a> {
    Holder {
        scope,
        route,
        principal: user.map(|user| Principal::of(b"secret", scope, user)),
    }
}

fn anybody() -> Holder<'static> {
    holder("shop.example", "orders", None)
}

fn issued(user: Option<&str>) -> String {
    let holder = holder("shop.example", "orders", user);
    Token::issue(&one(), LIFETIME, &holder, [7; 16])
}

fn parse(token: &str, holder: &Holder<'_>) -> Result<Token, TokenError> {
    Token::parse(token, &one(), holder)
}

/// Computed with Python's `hmac`, `hashlib` and `base64` from the description of the module.
#[test]
fn k2_a_token_is_written_as_documented() {
    assert_eq!(issued(None), VECTOR);
}

#[test]
fn k2_a_token_is_a_key_that_needs_no_quotes() {
    let name = "n".repeat(64);
    let secrets = secrets(&alloc::format!("{name}=0123456789abcdef"));
    let holder = holder("shop.example", "orders", Some("ada"));
    let token = Token::issue(&secrets, LIFETIME, &holder, [255; 16]);
    assert!(token.len() <= MAX_LENGTH, "{}", token.len());
    assert_eq!(Key::parse(&token).unwrap().to_header(), token);
}

#[test]
fn k2_what_was_issued_is_read_back() {
    let token = parse(&issued(None), &anybody()).unwrap();
    assert_eq!(token.lifetime(), LIFETIME);
    assert_eq!(token.lifetime().expires_ms(), NOW_MS + 300_000);
    assert_eq!(token.lifetime().forgotten_ms(), NOW_MS + 604_800_000);
}

#[test]
fn k2_two_tokens_are_never_the_same() {
    let other = Token::issue(&one(), LIFETIME, &anybody(), [8; 16]);
    assert_ne!(other, issued(None));
}

#[test]
fn k2_a_token_that_was_changed_anywhere_is_forged() {
    let token = issued(Some("ada"));
    let holder = holder("shop.example", "orders", Some("ada"));
    assert!(parse(&token, &holder).is_ok());
    for index in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(parse(&changed, &holder).is_err(), "{changed}");
        assert!(parse(&token[..index], &holder).is_err(), "{index}");
    }
    for more in ["A", "=", " ", "."] {
        assert!(parse(&(token.clone() + more), &holder).is_err(), "{more}");
    }
}

#[test]
fn k2_a_token_has_one_spelling() {
    let token = issued(None);
    // The last character of 64 bytes in base64 carries four bits that nobody reads.
    let (text, tag) = token.rsplit_once('.').unwrap();
    let last = tag.len() - 1;
    for character in "BCDEFGHIJKLMNOPQRSTUVWXYZabcdef0123456789-_".chars() {
        let other = alloc::format!("{text}.{}{character}", &tag[..last]);
        assert!(other == token || parse(&other, &anybody()).is_err());
    }
}

#[test]
fn k2_a_token_is_of_its_tenant_route_and_principal() {
    let token = issued(Some("ada"));
    for (foreign, whose) in [
        (holder("other.example", "orders", Some("ada")), "tenant"),
        (holder("shop.example", "refunds", Some("ada")), "route"),
        (holder("shop.example", "orders", Some("eve")), "principal"),
        (holder("shop.example", "orders", None), "principal"),
    ] {
        assert_eq!(parse(&token, &foreign), Err(TokenError::Foreign(whose)));
    }
}

#[test]
fn k2_who_was_nobody_when_it_was_issued_may_be_somebody_when_it_is_used() {
    let ada = holder("shop.example", "orders", Some("ada"));
    assert!(parse(&issued(None), &ada).is_ok());
}

#[test]
fn k2_a_retired_secret_verifies_and_signs_no_more() {
    let token = issued(None);
    let rotated = secrets("s2=fedcba9876543210,s1=0123456789abcdef");
    assert!(Token::parse(&token, &rotated, &anybody()).is_ok());
    let new = Token::issue(&rotated, LIFETIME, &anybody(), [7; 16]);
    assert!(new.starts_with("t1.s2."));
    assert_eq!(parse(&new, &anybody()), Err(TokenError::UnknownSecret));
    let other = secrets("s1=fedcba9876543210");
    let forged = Token::issue(&other, LIFETIME, &anybody(), [7; 16]);
    assert_eq!(parse(&forged, &anybody()), Err(TokenError::Mismatch));
}

#[test]
fn k2_what_is_no_token_is_malformed() {
    for key in [
        "",
        "t1",
        "t1.s1",
        "t1.s1.AAAA",
        "t2.s1.AAAA.AAAA",
        "t1.s1.ÿ.A",
    ] {
        assert_eq!(
            parse(key, &anybody()).unwrap_err().to_string(),
            "the key is no token",
            "{key}"
        );
    }
}

/// What is signed by us and is no token: a later version's, with more in it.
#[test]
fn k2_a_token_of_another_length_is_malformed() {
    let secrets = one();
    let text = "t1.s1.AAAA";
    let tag = mac(secrets.first(), text).finalize().into_bytes();
    let token = alloc::format!("{text}.{}", URL_SAFE_NO_PAD.encode(tag));
    assert_eq!(parse(&token, &anybody()), Err(TokenError::Malformed));
}

const VECTOR: &str = "t1.s1.AAABumDTOHsAAAEsAAk6gAcHBwcHBwcHBwcHBwcHBwcO7IuAZ6_FKjss8ISc7s4YbSD0o3bb_2Jt2hUY3IB0YA.HcsNvtpU7aYFwuRJvZASNB6RE4b6HboWSVjQiY6QbLQ";
