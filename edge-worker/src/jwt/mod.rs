//! Tokens that say who calls. What can be decided without cryptography is decided in the core; here
//! are the issuer's keys and the platform's cryptography.
//!
//! Invariant: claims leave this module only after the platform has verified the signature. Where the
//! keys cannot be had, nobody is believed and the gate is unavailable.

mod crypto;
mod keys;

use oncegate_core::jwt::{Claims, Expected, JwkSet, JwtConfig, TokenError, Unverified};
use oncegate_core::problem::{Code, Problem};
use worker::{Date, Url};

use crate::arrived::Arrived;
use crate::refusal::Refusal;

/// Where tokens come in, unless the configuration says otherwise.
const AUTHORIZATION: &str = "authorization";

/// How tokens are verified.
pub(crate) struct Jwt {
    header: String,
    expected: Expected,
    source: Source,
}

/// Where the issuer's keys come from.
enum Source {
    Configured(JwkSet),
    Published(String),
}

impl Jwt {
    /// Checks the configuration; the error is a sentence.
    pub(crate) fn new(config: JwtConfig) -> Result<Self, String> {
        let source = match (config.jwks, config.jwks_url) {
            (Some(keys), None) if keys.is_usable() => Source::Configured(keys),
            (Some(_), None) => {
                return Err("jwks has no key for RS256, ES256 or EdDSA".into());
            }
            (None, Some(url)) => Source::Published(keys_url(url)?),
            _ => return Err("needs jwks or jwks_url, and only one of them".into()),
        };
        if config.issuer.is_empty() || config.audience.is_empty() {
            return Err("issuer and audience must not be empty".into());
        }
        Ok(Self {
            header: header_name(config.header)?,
            expected: Expected {
                issuer: config.issuer,
                audience: config.audience,
            },
            source,
        })
    }

    /// The header field in which tokens come.
    pub(crate) fn header(&self) -> &str {
        &self.header
    }

    /// The claims of the caller's token.
    pub(crate) async fn verify(&self, arrived: &Arrived) -> Result<Claims, Refusal> {
        let carried = arrived.header(&self.header);
        let token = self.token(carried).ok_or_else(|| {
            let reason = format!("the header field '{}' has no token", self.header);
            Problem::new(Code::ScopeMissing).because(reason)
        })?;
        let token = Unverified::parse(token).map_err(|error| not_believed(&error))?;
        let key = match &self.source {
            Source::Configured(keys) => token
                .key(keys)
                .cloned()
                .map_err(|error| not_believed(&error))?,
            Source::Published(url) => keys::find(url, &token).await?,
        };
        if !crypto::is_signed(&token, &key).await? {
            return Err(not_believed(&TokenError::Signature));
        }
        let now_ms = Date::now().as_millis();
        token
            .claims(&self.expected, now_ms)
            .map_err(|error| not_believed(&error))
    }

    fn token<'v>(&self, value: &'v str) -> Option<&'v str> {
        let value = value.trim();
        match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Some(token.trim()),
            // Other header fields carry the token alone.
            None if self.header != AUTHORIZATION && !value.is_empty() => Some(value),
            _ => None,
        }
    }
}

fn keys_url(url: String) -> Result<String, String> {
    match Url::parse(&url) {
        // Not https: whoever can change the keys on their way is every tenant.
        Ok(parsed) if parsed.scheme() == "https" || is_local(&parsed) => Ok(url),
        _ => Err(format!("jwks_url '{url}' is no https URL")),
    }
}

fn is_local(url: &Url) -> bool {
    url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "localhost"))
}

fn header_name(name: Option<String>) -> Result<String, String> {
    let name = name.unwrap_or_else(|| AUTHORIZATION.to_owned());
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match !name.is_empty() && name.bytes().all(is_name) {
        true => Ok(name.to_ascii_lowercase()),
        false => Err(format!("header '{name}' is no name of a header field")),
    }
}

/// No token is no scope and no principal: which of them the route needs, the client knows.
fn not_believed(error: &TokenError) -> Refusal {
    Problem::new(Code::ScopeMissing).because(error).into()
}
