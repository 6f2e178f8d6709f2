//! What a person wants of the gate: a call whose body is JSON, and names who wants it and why.

use js_sys::Uint8Array;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arrived::Arrived;
use crate::body;

/// More than anybody has to say.
const LARGEST_CALL_BYTES: u64 = 4_096;

/// Who wants it, and why.
pub(crate) struct Word {
    pub(crate) actor: String,
    pub(crate) reason: String,
}

/// Reads what a person wants, and whose word it is; the error is a sentence.
pub(crate) async fn by_person<T: DeserializeOwned>(arrived: &Arrived) -> Result<(T, Word), String> {
    let mut said: Map<String, Value> = read(arrived).await?;
    let named = [said.remove("actor"), said.remove("reason")];
    let wanted = serde_json::from_value(said.into()).map_err(|error| error.to_string())?;
    let [actor, reason] = named.map(|name| match name {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
        _ => None,
    });
    match (actor, reason) {
        (Some(actor), Some(reason)) => Ok((wanted, Word { actor, reason })),
        _ => Err("`actor` and `reason` say who wants it and why".to_owned()),
    }
}

/// Reads what a call says; the error is a sentence.
pub(crate) async fn read<T: DeserializeOwned>(arrived: &Arrived) -> Result<T, String> {
    let body = body::whole_request(arrived, LARGEST_CALL_BYTES).await;
    let body = body.map_err(|_| format!("it has at most {LARGEST_CALL_BYTES} bytes"))?;
    let body = Uint8Array::new(&body).to_vec();
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}
