//! A call that comes from the gate (L1).

use axum::extract::OriginalUri;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::header;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::outcome::Outcome;
use oncegate_core::signature::{Claims, Secrets};

use super::Reply;
use crate::clock::now_ms;
use crate::ledger::Call;
use crate::problem::Problem;

/// What the gate asks for, or what is wrong with it. The signature check is the only constructor.
pub(crate) struct Signed(Result<Call, Problem>);

impl Signed {
    /// Checks the signature over what was sent.
    pub(crate) fn verify(parts: &Parts, secrets: &Secrets) -> Result<Self, Reply> {
        let claims = claims(parts)?;
        let signature = single(&parts.headers, header::SIGNATURE)?;
        if signature.is_empty() {
            return Err(not_signed("there is no Oncegate-Signature"));
        }
        secrets
            .verify(now_ms(), signature, &claims)
            .map_err(|error| not_signed(&error.to_string()))?;
        Ok(Self(call(&claims)))
    }

    /// As an attempt: one that cannot be read certainly did nothing, and says so (L8).
    pub(crate) fn attempt(self) -> Result<Call, Reply> {
        self.0.map_err(Reply::did_nothing)
    }

    /// As a question about an operation, which may have run all the same: *unknown*.
    pub(crate) fn question(self) -> Result<Call, Reply> {
        self.0
            .map_err(|problem| Reply::from(problem).with_outcome(Outcome::Unknown))
    }
}

/// The signed values, exactly as they were sent: a nested router sees less of the URI.
fn claims(parts: &Parts) -> Result<Claims<'_>, Reply> {
    let headers = &parts.headers;
    let original = parts.extensions.get::<OriginalUri>();
    let uri = original.map_or(&parts.uri, |OriginalUri(uri)| uri);
    Ok(Claims {
        method: parts.method.as_str(),
        path_and_query: uri.path_and_query().map_or("", |value| value.as_str()),
        key: single(headers, header::IDEMPOTENCY_KEY)?,
        attempt: single(headers, header::ATTEMPT)?,
        operation: single(headers, header::OPERATION)?,
        key_kind: single(headers, header::KEY_KIND)?,
        fingerprint: single(headers, header::FINGERPRINT)?,
    })
}

/// The value of a header, empty if there is none. A second line would not be covered by the
/// signature, so it is an error.
fn single<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a str, Reply> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(""),
        (Some(value), None) => value
            .to_str()
            .map_err(|_| not_signed(&format!("{name} is not printable ASCII"))),
        (Some(_), Some(_)) => Err(not_signed(&format!("{name} is sent twice"))),
    }
}

fn call(claims: &Claims<'_>) -> Result<Call, Problem> {
    Ok(Call {
        key: Key::parse(claims.key)
            .map_err(|error| malformed(&format!("Idempotency-Key: {error}")))?,
        fingerprint: Fingerprint::parse(claims.fingerprint)
            .ok_or_else(|| malformed("Oncegate-Fingerprint: it has 64 hexadecimal digits"))?,
        kind: KeyKind::parse(claims.key_kind)
            .ok_or_else(|| malformed("Oncegate-Key-Kind: it is client, token or generated"))?,
    })
}

/// It carries no outcome: who is not the gate learns nothing about a key.
fn not_signed(why: &str) -> Reply {
    let detail = format!("Orders are taken from the gate only, and {why}.");
    Problem::new(
        401,
        "signature_invalid",
        "This call does not come from the gate",
        detail,
    )
    .into()
}

fn malformed(what: &str) -> Problem {
    let detail = format!("A signed header is malformed. {what}.");
    Problem::new(400, "call_invalid", "The gate's call is malformed", detail)
}
