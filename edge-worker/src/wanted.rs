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
    understood(&whole(arrived).await?)
}

/// Reads what a call says that need not say anything.
pub(crate) async fn read_if_any<T: DeserializeOwned + Default>(
    arrived: &Arrived,
) -> Result<T, String> {
    match whole(arrived).await?.as_slice() {
        [] => Ok(T::default()),
        body => understood(body),
    }
}

async fn whole(arrived: &Arrived) -> Result<Vec<u8>, String> {
    let body = body::whole_request(arrived, LARGEST_CALL_BYTES).await;
    let body = body.map_err(|_| format!("it has at most {LARGEST_CALL_BYTES} bytes"))?;
    Ok(Uint8Array::new(&body).to_vec())
}

fn understood<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}
