//! Any key where a token has to be: nothing but what was issued passes, for nobody but its holder, in one
//! spelling (rule K2).
//!
//! The first lines choose a lifetime and what the token is for, the last one what is presented in its place:
//! that text, or, if it is a number, the token with this character changed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate_core::key::Key;
use oncegate_core::signature::Secrets;
use oncegate_core::token::{Holder, Lifetime, Token};

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(4, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (number, scope, route, presented) = (next(), next(), next(), next());
    let number: u64 = number.parse().unwrap_or_default();
    let secrets = Secrets::parse("s1=0123456789abcdef,s0=fedcba9876543210").expect("two secrets");
    let holder = Holder {
        scope,
        route,
        principal: None,
    };
    let lifetime = Lifetime {
        issued_ms: number,
        ttl_ms: number % 1_000_000_000 / 1_000 * 1_000,
        key_ttl_ms: number % 4_000_000_000_000 / 1_000 * 1_000,
    };
    let token = Token::issue(&secrets, lifetime, &holder, [7; 16]);
    let read = Token::parse(&token, &secrets, &holder).expect("it was issued");
    assert_eq!(read.lifetime(), lifetime);
    assert_eq!(
        Key::parse(&token).map(|key| key.to_header()),
        Ok(token.clone())
    );
    let foreign = Holder {
        route: "another\nroute",
        ..holder
    };
    assert_eq!(
        Token::parse(&token, &secrets, &foreign).is_ok(),
        foreign.route == route
    );
    for other in [presented.to_owned(), changed(&token, presented)] {
        let read = Token::parse(&other, &secrets, &holder);
        assert!(other == token || read.is_err(), "{other}");
    }
});

/// The token with one character changed.
fn changed(token: &str, place: &str) -> String {
    let place = place.parse().unwrap_or(0) % token.len();
    let mut bytes = token.as_bytes().to_vec();
    bytes[place] = bytes[place].wrapping_add(1) & 0x7f;
    String::from_utf8(bytes).expect("ASCII")
}
