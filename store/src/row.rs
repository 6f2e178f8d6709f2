//! What a row says, and in which words.

use oncegate_core::operation::{Operation, Stored};

use super::database::{Database, Fault, Value};

/// Later than any time: the row is kept until it settles. Exact in a JavaScript number.
pub(crate) const FOREVER_MS: u64 = (1 << 53) - 1;

/// An answer that can be given again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one row")]
pub struct Answer<B> {
    /// The HTTP status.
    pub status: u16,
    /// The header fields that are replayed.
    pub headers: Vec<(String, String)>,
    /// The body; `None` if it is empty.
    pub body: Option<B>,
}

/// A request that the gate can send by itself, as long as its operation is not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one row")]
pub struct StoredRequest<B> {
    /// Whatever the shell needs to send it: text of the shell's own.
    pub head: String,
    /// The body; `None` if it is empty.
    pub body: Option<B>,
}

/// What is written with a record besides itself. What is not given stays, as long as the record
/// speaks of it.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one row")]
pub struct Written<'a, B> {
    /// The operation's new answer.
    pub answer: Option<&'a Answer<B>>,
    /// The operation's new request.
    pub request: Option<&'a StoredRequest<B>>,
}

impl<B> Written<'_, B> {
    /// The record alone.
    pub const NOTHING: Self = Self {
        answer: None,
        request: None,
    };
}

/// Reads a record. One that cannot be read is an error, never absent (rule I5).
pub(crate) fn read_record(text: &str) -> Result<Operation, Fault> {
    let stored: Stored =
        serde_json::from_str(text).map_err(|error| Fault::Record(error.to_string()))?;
    Ok(stored.into_record())
}

/// Writes a record in the newest version.
pub(crate) fn write_record(record: Operation) -> Result<String, Fault> {
    to_json(&Stored::from(record))
}

pub(crate) fn read_answer<D: Database>(
    values: [Value<D::Bytes>; 3],
) -> Result<Option<Answer<D::Bytes>>, Fault> {
    let (status, headers, body) = match values {
        [Value::Null, _, _] => return Ok(None),
        [Value::Integer(status), Value::Text(headers), body] => (status, headers, body),
        _ => return Err(Fault::Row("answer")),
    };
    Ok(Some(Answer {
        status: u16::try_from(status).map_err(|_| Fault::Row("status"))?,
        headers: serde_json::from_str(&headers).map_err(|_| Fault::Row("headers"))?,
        body: read_body(body)?,
    }))
}

pub(crate) fn read_body<B>(value: Value<B>) -> Result<Option<B>, Fault> {
    match value {
        Value::Null => Ok(None),
        Value::Bytes(bytes) => Ok(Some(bytes)),
        _ => Err(Fault::Row("body")),
    }
}

pub(crate) fn answer_values<B: Clone>(answer: Option<&Answer<B>>) -> Result<[Value<B>; 3], Fault> {
    let Some(answer) = answer else {
        return Ok([Value::Null, Value::Null, Value::Null]);
    };
    Ok([
        Value::Integer(answer.status.into()),
        Value::Text(to_json(&answer.headers)?),
        body_value(answer.body.as_ref()),
    ])
}

pub(crate) fn request_values<B: Clone>(request: Option<&StoredRequest<B>>) -> [Value<B>; 2] {
    match request {
        Some(request) => [
            Value::Text(request.head.clone()),
            body_value(request.body.as_ref()),
        ],
        None => [Value::Null, Value::Null],
    }
}

fn body_value<B: Clone>(body: Option<&B>) -> Value<B> {
    body.cloned().map_or(Value::Null, Value::Bytes)
}

fn to_json(value: &impl serde::Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Record(error.to_string()))
}
