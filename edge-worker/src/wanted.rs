//! What a person wants of the gate: a call whose body is JSON, and names who wants it and why.

use js_sys::Uint8Array;
use serde::de::DeserializeOwned;

use crate::arrived::Arrived;
use crate::body;

/// More than anybody has to say.
const LARGEST_CALL_BYTES: u64 = 4_096;

/// Who wants it, and why.
pub(crate) struct Word {
    pub(crate) actor: String,
    pub(crate) reason: String,
}

impl Word {
    /// Checks that neither is left out; the error is a sentence.
    pub(crate) fn new(actor: String, reason: String) -> Result<Self, String> {
        if actor.trim().is_empty() || reason.trim().is_empty() {
            return Err("`actor` and `reason` say who wants it and why".to_owned());
        }
        Ok(Self { actor, reason })
    }
}

/// Reads what a call says; the error is a sentence.
pub(crate) async fn read<T: DeserializeOwned>(arrived: &Arrived) -> Result<T, String> {
    let body = body::whole_request(arrived, LARGEST_CALL_BYTES).await;
    let body = body.map_err(|_| format!("it has at most {LARGEST_CALL_BYTES} bytes"))?;
    let body = Uint8Array::new(&body).to_vec();
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}
