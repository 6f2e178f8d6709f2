use alloc::format;
use alloc::string::ToString;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

const NOW_S: u64 = 1_800_000_000;

fn token(header: &str, payload: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let signature = URL_SAFE_NO_PAD.encode([7; 64]);
    format!("{}.{}.{signature}", part(header), part(payload))
}

#[track_caller]
fn refuses_header(header: &str, error: TokenError) {
    assert_eq!(Unverified::parse(&token(header, "{}")).unwrap_err(), error);
}

fn expected() -> Expected {
    Expected {
        issuer: "https://id.example".into(),
        audience: "shop".into(),
    }
}

fn claims(payload: &str) -> Result<Claims, TokenError> {
    let token = Unverified::parse(&token(r#"{"alg":"ES256"}"#, payload)).unwrap();
    token.claims(&expected(), NOW_S * 1_000)
}

fn payload(changes: &str) -> String {
    format!(r#"{{"iss":"https://id.example","aud":"shop","exp":{NOW_S}{changes}}}"#)
}

#[test]
fn a_token_is_read_as_it_is_signed() {
    let text = token(r#"{"alg":"RS256","kid":"a","typ":"JWT"}"#, r#"{"sub":"u"}"#);
    let read = Unverified::parse(&text).unwrap();
    assert_eq!(read.algorithm(), Algorithm::Rs256);
    assert_eq!(read.signed(), text.rsplit_once('.').unwrap().0);
    assert_eq!(read.signature(), [7; 64]);
}

#[test]
fn unsecured_and_symmetric_tokens_are_refused() {
    for alg in [
        "none", "None", "HS256", "HS512", "RS512", "ES384", "PS256", "",
    ] {
        refuses_header(&format!(r#"{{"alg":"{alg}"}}"#), TokenError::Algorithm);
    }
    refuses_header("{}", TokenError::Algorithm);
    refuses_header(r#"{"alg":1}"#, TokenError::Algorithm);
}

#[test]
fn what_a_token_must_not_have() {
    refuses_header(r#"{"alg":"ES256","crit":[]}"#, TokenError::Critical);
    refuses_header(r#"{"alg":"ES256","b64":false}"#, TokenError::Critical);
    refuses_header(r#"{"alg":"ES256","alg":"none"}"#, TokenError::Twice);
    refuses_header(r#"{"alg":"ES256","\u0061lg":"none"}"#, TokenError::Twice);
    refuses_header(r#"["alg"]"#, TokenError::NoObject);
    assert!(matches!(
        Unverified::parse(&token(r#"{"alg":"ES256"}x"#, "{}")),
        Err(TokenError::Json(_))
    ));
}

#[test]
fn a_token_has_three_parts_of_strict_base64url() {
    let good = token(r#"{"alg":"ES256"}"#, "{}");
    for text in [
        "".into(),
        "a.b".into(),
        good.replace('.', ""),
        format!("{good}.x"),
        format!("{good}="),
        format!(" {good}"),
        good.replacen('e', "+", 1),
    ] {
        assert_eq!(
            Unverified::parse(&text).unwrap_err(),
            TokenError::Form,
            "{text}"
        );
    }
    let cut = &good[..good.len() - 2];
    assert!(Unverified::parse(cut).is_err());
    assert_eq!(
        Unverified::parse(&"a".repeat(9_000)).unwrap_err(),
        TokenError::TooLarge
    );
}

fn keys(text: &str) -> JwkSet {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_token_does_not_choose_how_its_key_is_used() {
    let set = keys(
        r#"{"keys":[
            {"kty":"oct","kid":"a","k":"AAAA"},
            {"kty":"EC","crv":"P-384","kid":"a"},
            {"kty":"EC","crv":"P-256","kid":"a","use":"enc"},
            {"kty":"EC","crv":"P-256","kid":"a","alg":"ES384"},
            {"kty":"EC","crv":"P-256","kid":"a","key_ops":["sign"]},
            {"kty":"RSA","kid":"a","n":"short","e":"AQAB"},
            {"kty":"OKP","crv":"Ed25519","kid":"b","x":"x"}
        ]}"#,
    );
    let key = |header: &str| {
        Unverified::parse(&token(header, "{}"))
            .unwrap()
            .key(&set)
            .cloned()
    };
    for alg in ["ES256", "RS256", "EdDSA"] {
        let header = format!(r#"{{"alg":"{alg}","kid":"a"}}"#);
        assert_eq!(key(&header), Err(TokenError::UnknownKey), "{alg}");
    }
    assert_eq!(
        key(r#"{"alg":"EdDSA","kid":"b"}"#).unwrap().kid.unwrap(),
        "b"
    );
    assert!(set.is_usable());
    assert!(!keys(r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#).is_usable());
}

#[test]
fn a_token_without_a_key_name_needs_a_single_key() {
    let one = r#"{"kty":"EC","crv":"P-256","x":"1"}"#;
    let token = Unverified::parse(&token(r#"{"alg":"ES256"}"#, "{}")).unwrap();
    assert!(token.key(&keys(&format!(r#"{{"keys":[{one}]}}"#))).is_ok());
    let two = keys(&format!(r#"{{"keys":[{one},{one}]}}"#));
    assert_eq!(token.key(&two), Err(TokenError::UnknownKey));
}

#[test]
fn a_private_key_is_not_passed_on() {
    let set = keys(r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"1","d":"secret","use":"sig"}]}"#);
    let text = serde_json::to_string(&set.keys[0]).unwrap();
    assert_eq!(text, r#"{"kty":"OKP","crv":"Ed25519","x":"1"}"#);
}

#[test]
fn a_token_is_for_us() {
    assert!(claims(&payload("")).is_ok());
    let list = payload("").replace(r#""shop""#, r#"["other","shop"]"#);
    assert!(claims(&list).is_ok());
    let refused = |from: &str, to: &str| claims(&payload("").replace(from, to)).unwrap_err();
    assert_eq!(refused("id.example", "id.example."), TokenError::Issuer);
    assert_eq!(refused(r#""shop""#, r#""shop2""#), TokenError::Audience);
    assert_eq!(refused(r#""shop""#, r#"["other"]"#), TokenError::Audience);
    assert_eq!(refused(r#""shop""#, r#"[["shop"]]"#), TokenError::Audience);
    assert_eq!(refused(r#""iss""#, r#""is""#), TokenError::Issuer);
    assert_eq!(refused(r#""aud""#, r#""au""#), TokenError::Audience);
}

#[test]
fn a_token_has_its_time_with_a_minute_on_either_side() {
    let at = |exp: &str, nbf: &str| {
        let payload = payload(&format!(r#","nbf":{nbf}"#));
        claims(&payload.replace(&NOW_S.to_string(), exp)).err()
    };
    let s = |offset: i64| NOW_S.checked_add_signed(offset).unwrap().to_string();
    assert_eq!(at(&s(-59), &s(60)), None);
    assert_eq!(at(&s(-60), "0"), Some(TokenError::Expired));
    assert_eq!(at(&s(0), &s(61)), Some(TokenError::NotYet));
    assert_eq!(at(&format!("{}.9", s(0)), "0"), None);
    for exp in [
        "1.8e9",
        "-1",
        "\"1800000000\"",
        "null",
        "99999999999999999999",
    ] {
        assert_eq!(at(exp, "0"), Some(TokenError::NoTime("exp")), "{exp}");
    }
    let without = payload("").replace("exp", "ex");
    assert_eq!(claims(&without).unwrap_err(), TokenError::NoTime("exp"));
}

#[test]
fn a_claim_that_occurs_twice_is_no_claim() {
    assert_eq!(
        claims(&payload(r#","sub":"a","sub":"b""#)).unwrap_err(),
        TokenError::Twice
    );
    let nested = claims(&payload(r#","org":{"id":"a","id":"b"}"#)).unwrap();
    assert_eq!(nested.text(&ClaimName::parse("/org/id").unwrap()), None);
}

#[test]
fn a_claim_is_a_text_or_the_digits_of_a_number() {
    let more =
        r#","sub":"u-1","n":900719925474099312345,"org":{"id":"o"},"e":"","t":true,"a/b":"c""#;
    let claims = claims(&payload(more)).unwrap();
    let text = |name| claims.text(&ClaimName::parse(name).unwrap());
    assert_eq!(text("sub").as_deref(), Some("u-1"));
    assert_eq!(text("n").as_deref(), Some("900719925474099312345"));
    assert_eq!(text("/org/id").as_deref(), Some("o"));
    assert_eq!(text("a/b").as_deref(), Some("c"));
    for name in ["e", "t", "org", "none", "/org"] {
        assert_eq!(text(name), None, "{name}");
    }
    assert!(ClaimName::parse("/~2").is_err());
}
