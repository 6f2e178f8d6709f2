//! Whose a key is, and whose an operation.
//!
//! The *scope* is the tenant: constant for the life of an operation and never the user, or else a user
//! who signs in again makes a second operation. The *bind* is the principal who has to be the same on
//! every request of an operation. Claims are read from verified tokens only, and header fields that
//! clients can set are for the operator to keep away: they are the trusted infrastructure's.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use serde::Deserialize;

use super::error::Fault;
use super::names::header_name;
use crate::jwt::ClaimName;

/// The longest value of a scope or principal, in bytes.
const LONGEST_VALUE: usize = 255;

/// Where the scope is taken from, as written in the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum ScopeConfig {
    /// A claim of the verified token: `{ claim = "tenant" }`.
    Claim(String),
    /// A header field of trusted infrastructure: `{ header = "X-Tenant" }`.
    Header(String),
    /// The host of the request: `"host"`.
    #[default]
    Host,
}

/// Where the principal is taken from, as written in the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum BindConfig {
    /// A claim of the verified token: `{ claim = "sub" }`.
    Claim(String),
    /// A header field of trusted infrastructure: `{ header = "X-User" }`.
    Header(String),
}

/// Where a value is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must read every source")]
pub enum Attribute {
    /// A claim of the verified token.
    Claim(ClaimName),
    /// A header field, in lower case.
    Header(String),
}

/// Whose the keys of a route are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must read every source")]
pub enum Scope {
    /// The host's that the request was sent to.
    Host,
    /// A tenant's.
    Tenant(Attribute),
}

/// Why a header field or a claim is no scope and no principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum ValueFault {
    /// It has characters that cannot be in it.
    Characters,
    /// It is empty.
    Empty,
    /// It is longer than 255 bytes.
    TooLong,
}

impl Scope {
    pub(super) fn new(config: ScopeConfig, has_tokens: bool) -> Result<Self, Fault> {
        let attribute = match config {
            ScopeConfig::Host => return Ok(Self::Host),
            ScopeConfig::Claim(name) => BindConfig::Claim(name),
            ScopeConfig::Header(name) => BindConfig::Header(name),
        };
        Attribute::new("scope", attribute, has_tokens).map(Self::Tenant)
    }

    /// The text that goes into an [`Identity`](crate::identity::Identity). A tenant is never taken for
    /// a host: no host has a `|`.
    pub fn text(&self, value: &str) -> String {
        match self {
            Self::Host => value.to_owned(),
            Self::Tenant(_) => format!("tenant|{value}"),
        }
    }

    /// Whether a JSON Web Token has to be verified for it or for this principal.
    pub fn reads_claims(&self, bind: Option<&Attribute>) -> bool {
        let scope = match self {
            Self::Host => None,
            Self::Tenant(attribute) => Some(attribute),
        };
        let mut attributes = scope.into_iter().chain(bind);
        attributes.any(|attribute| matches!(attribute, Attribute::Claim(_)))
    }
}

impl Attribute {
    pub(super) fn new(
        field: &'static str,
        config: BindConfig,
        has_tokens: bool,
    ) -> Result<Self, Fault> {
        match config {
            BindConfig::Claim(_) if !has_tokens => {
                let reason = "is a claim, and nothing verifies tokens: set JWT";
                Err(Fault::new(field, reason))
            }
            BindConfig::Claim(name) => ClaimName::parse(&name)
                .map(Self::Claim)
                .map_err(|reason| Fault::new(field, reason)),
            BindConfig::Header(name) => header_name(&name)
                .map(Self::Header)
                .map_err(|reason| Fault::new(field, reason)),
        }
    }

    /// Checks a value from this source.
    ///
    /// # Errors
    ///
    /// [`ValueFault`] says why it is none. A comma in a header field may stand between the client's
    /// value and the infrastructure's: runtimes join repeated lines with one.
    pub fn check<'v>(&self, value: &'v str) -> Result<&'v str, ValueFault> {
        let trimmed = value.trim_matches([' ', '\t']);
        let value = match self {
            // White space around a field's value is not part of it. To its issuer, `ada` and `ada ` are two.
            Self::Header(_) => trimmed,
            Self::Claim(_) => value,
        };
        let is_wrong = |character: char| match self {
            Self::Claim(_) => character.is_control(),
            Self::Header(_) => !matches!(character, ' '..='~') || character == ',',
        };
        if trimmed.is_empty() {
            Err(ValueFault::Empty)
        } else if value.len() > LONGEST_VALUE {
            Err(ValueFault::TooLong)
        } else if value.contains(is_wrong) {
            Err(ValueFault::Characters)
        } else {
            Ok(value)
        }
    }
}

impl core::fmt::Display for Attribute {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Claim(name) => write!(f, "the claim '{name}'"),
            Self::Header(name) => write!(f, "the header field '{name}'"),
        }
    }
}

impl core::fmt::Display for ValueFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Characters => "has characters that cannot be in it",
            Self::Empty => "is empty",
            Self::TooLong => "is longer than 255 bytes",
        })
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_tenant_is_never_taken_for_a_host() {
        let tenant = Scope::Tenant(Attribute::Header("x-tenant".into()));
        assert_eq!(Scope::Host.text("shop.example"), "shop.example");
        assert_eq!(tenant.text("shop.example"), "tenant|shop.example");
    }

    #[test]
    fn a_header_field_of_the_infrastructure_has_one_value() {
        let header = Attribute::Header("x-tenant".into());
        assert_eq!(header.check(" acme "), Ok("acme"));
        assert_eq!(header.check(" "), Err(ValueFault::Empty));
        for value in ["evil, acme", "a\u{7f}", "größe"] {
            assert_eq!(header.check(value), Err(ValueFault::Characters), "{value}");
        }
        assert_eq!(header.check(&"a".repeat(255)).map(str::len), Ok(255));
        assert_eq!(header.check(&"a".repeat(256)), Err(ValueFault::TooLong));
    }

    #[test]
    fn a_claim_is_any_text() {
        let claim = Attribute::Claim(ClaimName::parse("tenant").unwrap());
        assert_eq!(claim.check("Müller, Söhne"), Ok("Müller, Söhne"));
        assert_eq!(claim.check("a\nb"), Err(ValueFault::Characters));
        assert_eq!(claim.check("ada "), Ok("ada "), "another one than \"ada\"");
        assert_eq!(claim.check(" "), Err(ValueFault::Empty));
    }
}
