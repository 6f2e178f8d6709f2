//! Requests that have passed this gate before (rule K6).
//!
//! Everything that leaves for an origin carries the gate's own id, behind those of the gates before it, and protected calls a
//! signature: with either, a request comes from this gate and would go round for ever, be it through others. A client that forges an id only
//! refuses itself.

use oncegate_core::header::{
    ATTEMPT, FINGERPRINT, IDEMPOTENCY_KEY, KEY_KIND, OPERATION, SIGNATURE,
};
use oncegate_core::signature::{Claims, SignatureError};
use worker::Date;

use crate::arrived::Arrived;
use crate::config::{Config, GATE_ID_LENGTH};
use crate::fields::Fields;

/// The header field with the ids of the gates that a request has passed.
const VIA: &str = "oncegate-via";

/// More gates than stand one behind the other anywhere.
const MOST_GATES: usize = 8;

/// Writes this gate's id into the header fields of a request for an origin, behind those of the gates that it
/// has passed.
pub(crate) fn mark(fields: &mut Fields, via: &str, config: &Config) {
    let ids = gates(via).chain([config.gate_id.as_str()]);
    fields.set(VIA, ids.collect::<Vec<_>>().join(", "));
}

/// Whether a request has passed this gate before, or so many that it goes round among others.
pub(crate) fn is_loop(arrived: &Arrived, config: &Config) -> bool {
    let via = via(arrived);
    if gates(via).any(|id| id == config.gate_id) || gates(via).count() >= MOST_GATES {
        return true;
    }
    let signature = arrived.fields.get(SIGNATURE);
    signature.is_some_and(|signature| is_signed(arrived, signature, config))
}

/// What a request says of the gates that it has passed.
pub(crate) fn via(arrived: &Arrived) -> &str {
    arrived.header(VIA)
}

/// The ids in it. What is none was not written by a gate, and goes no further.
fn gates(via: &str) -> impl Iterator<Item = &str> {
    let is_id =
        |id: &&str| id.len() == GATE_ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    via.split(',').map(str::trim).filter(is_id)
}

fn is_signed(arrived: &Arrived, signature: &str, config: &Config) -> bool {
    let claims = Claims {
        method: arrived.method.as_ref(),
        path_and_query: &arrived.path_and_query,
        key: arrived.header(IDEMPOTENCY_KEY),
        attempt: arrived.header(ATTEMPT),
        operation: arrived.header(OPERATION),
        key_kind: arrived.header(KEY_KIND),
        fingerprint: arrived.header(FINGERPRINT),
    };
    let now_ms = Date::now().as_millis();
    let verified = config.signing_secrets.verify(now_ms, signature, &claims);
    // However old it is, only this gate makes one.
    matches!(verified, Ok(_) | Err(SignatureError::Clock))
}
