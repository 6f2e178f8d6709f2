//! What a verified token claims.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::error::TokenError;
use super::object::Object;
use crate::body::json::Event;
use crate::body::pointer::{Pointer, PointerError, key_value};

/// How far the clocks of issuer and gate may be apart, in seconds.
const TOLERANCE_S: u64 = 60;

/// What a token has to say of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what is left out is not checked")]
pub struct Expected {
    /// Its issuer.
    pub issuer: String,
    /// Its audience, or one of them.
    pub audience: String,
}

/// The claims of a token that was verified, is for us, and is valid.
#[derive(Clone, Debug)]
pub struct Claims {
    payload: Vec<u8>,
}

/// Where a claim stands: its name, or a JSON pointer such as `/org/id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimName {
    text: String,
    pointer: Pointer,
}

impl ClaimName {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// [`PointerError`] if it begins like a JSON pointer, and is none.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let pointer = match text.starts_with('/') {
            true => Pointer::parse(text)?,
            false => {
                let escaped = text.replace('~', "~0").replace('/', "~1");
                Pointer::parse(&["/", &escaped].concat())?
            }
        };
        Ok(Self {
            text: text.to_owned(),
            pointer,
        })
    }
}

impl fmt::Display for ClaimName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The claims that every token must have.
#[derive(Default)]
struct Registered {
    issuer: Option<String>,
    audience: Vec<String>,
    expires_s: Option<u64>,
    begins_s: Option<u64>,
}

impl Claims {
    pub(super) fn read(
        payload: Vec<u8>,
        expected: &Expected,
        now_ms: u64,
    ) -> Result<Self, TokenError> {
        let registered = Registered::read(&payload)?;
        let now_s = now_ms / 1_000;
        let expires_s = registered.expires_s.ok_or(TokenError::NoTime("exp"))?;
        let begins_s = registered.begins_s.unwrap_or(0);
        if registered.issuer.as_ref() != Some(&expected.issuer) {
            Err(TokenError::Issuer)
        } else if !registered.audience.contains(&expected.audience) {
            Err(TokenError::Audience)
        } else if now_s >= expires_s.saturating_add(TOLERANCE_S) {
            Err(TokenError::Expired)
        } else if now_s.saturating_add(TOLERANCE_S) < begins_s {
            Err(TokenError::NotYet)
        } else {
            Ok(Self { payload })
        }
    }

    /// The text of a claim: a string that is not empty, or the digits of a number.
    pub fn text(&self, name: &ClaimName) -> Option<String> {
        let value = key_value(&self.payload, &name.pointer).ok()?;
        Some(value.as_str().to_string())
    }
}

impl Registered {
    fn read(payload: &[u8]) -> Result<Self, TokenError> {
        let mut object = Object::open(payload)?;
        let mut registered = Self::default();
        while let Some(name) = object.name()? {
            let value = object.value()?;
            match (name.as_str(), value) {
                ("iss", Event::String(text)) => registered.issuer = Some(text.chars().collect()),
                ("aud", Event::String(text)) => registered.audience.push(text.chars().collect()),
                ("aud", Event::ArrayStart) => registered.audience = audiences(&mut object)?,
                ("exp", value) => registered.expires_s = Some(time("exp", value)?),
                ("nbf", value) => registered.begins_s = Some(time("nbf", value)?),
                (_, value) => object.skip(value)?,
            }
        }
        Ok(registered)
    }
}

fn audiences(object: &mut Object<'_>) -> Result<Vec<String>, TokenError> {
    let mut audiences = Vec::new();
    loop {
        match object.value()? {
            Event::ArrayEnd => return Ok(audiences),
            Event::String(text) => audiences.push(text.chars().collect()),
            _ => return Err(TokenError::Audience),
        }
    }
}

/// Whole seconds: a fraction is cut off, and exponents are nobody's time.
fn time(name: &'static str, value: Event<'_>) -> Result<u64, TokenError> {
    let Event::Number(number) = value else {
        return Err(TokenError::NoTime(name));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let whole = whole.parse().ok().filter(|_| is_digits);
    whole.ok_or(TokenError::NoTime(name))
}
