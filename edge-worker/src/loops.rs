//! Requests that have passed this gate before (rule K6).
//!
//! Everything that leaves for an origin carries the gate's own id, and protected calls a signature: with
//! either, a request comes from this gate and would go round for ever. A client that forges the id only
//! refuses itself.

use oncegate_core::header::{
    ATTEMPT, FINGERPRINT, IDEMPOTENCY_KEY, KEY_KIND, OPERATION, SIGNATURE,
};
use oncegate_core::signature::{Claims, SignatureError};
use worker::Date;

use crate::arrived::Arrived;
use crate::config::Config;
use crate::fields::Fields;

/// The header field with the ids of the gates that a request has passed.
const VIA: &str = "oncegate-via";

/// Writes this gate's id into the header fields of a request for an origin.
pub(crate) fn mark(fields: &mut Fields, config: &Config) {
    fields.set(VIA, &*config.gate_id);
}

/// Whether a request has passed this gate before.
pub(crate) fn is_loop(arrived: &Arrived, config: &Config) -> bool {
    let via = arrived.header(VIA);
    if via.split(',').any(|id| id.trim() == config.gate_id) {
        return true;
    }
    let signature = arrived.fields.get(SIGNATURE);
    signature.is_some_and(|signature| is_signed(arrived, signature, config))
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
