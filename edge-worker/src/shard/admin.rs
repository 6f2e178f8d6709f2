//! What a person asks of one operation, and does to it.
//!
//! Invariant: a person decides by what was seen: what is settled by hand names the record's version
//! (rule I3), and what the record forbids stays forbidden.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use js_sys::Uint8Array;
use oncegate_core::header;
use oncegate_core::operation::{Operation, Resolution};
use oncegate_core::problem::{Code, Problem};
use oncegate_store::Written;
use serde_json::{Value, json};
use worker::{Date, Response, ResponseBuilder, Result};

use super::{Inner, identity};
use crate::answer::{self, Answer};
use crate::message::{Erase, Inspect, Resolve};
use crate::store::Found;
use crate::waiters::News;

impl Inner {
    /// Everything that is known of an operation, but for its content, which has to be asked for.
    pub(super) fn inspect(&self, inspect: &Inspect) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&inspect.operation)?;
        let found = self.store(now_ms)?.find(now_ms, &operation)?;
        let Some(record) = &found.record else {
            return unknown(&inspect.operation);
        };
        let mut seen = seen(now_ms, &inspect.operation, record);
        let answer = found.answer.as_ref();
        if let Some(answer) = answer.filter(|_| inspect.answer && record.has_stored_answer()) {
            seen["answer"] = content(answer);
        }
        told(&inspect.operation, &seen)
    }

    /// Settles an operation by a person's word.
    pub(super) fn resolve(&self, resolve: &Resolve) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&resolve.operation)?;
        let found = self.store(now_ms)?.find(now_ms, &operation)?;
        let before = found.trouble(now_ms);
        let Found { record, place, .. } = found;
        let Some(record) = record else {
            return unknown(&resolve.operation);
        };
        let resolution = Resolution {
            revision: resolve.revision,
            outcome: resolve.outcome,
        };
        let record = match record.resolve(now_ms, resolution) {
            Ok(record) => record,
            Err(error) => return answer::turn_away(&error.into(), &resolve.operation),
        };
        let seen = seen(now_ms, &resolve.operation, &record);
        self.keep(
            now_ms,
            &operation,
            (place, before),
            record,
            Written::NOTHING,
        )?;
        self.waiters.tell(&operation, &News::Record);
        told(&resolve.operation, &seen)
    }

    /// Forgets the content of an operation, and keeps that it happened.
    pub(super) fn erase(&self, erase: &Erase) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&erase.operation)?;
        let found = self.store(now_ms)?.find(now_ms, &operation)?;
        let before = found.trouble(now_ms);
        let Found { record, place, .. } = found;
        let Some(record) = record else {
            return unknown(&erase.operation);
        };
        let Ok(record) = record.erase(now_ms) else {
            let reason = "it is not settled: an attempt may be under way, and needs its content";
            let problem = Problem::new(Code::ResolutionRefused).because(reason);
            return answer::turn_away(&problem, &erase.operation);
        };
        let seen = seen(now_ms, &erase.operation, &record);
        self.keep(
            now_ms,
            &operation,
            (place, before),
            record,
            Written::NOTHING,
        )?;
        self.store(now_ms)?.forget_earlier(&operation)?;
        told(&erase.operation, &seen)
    }
}

fn seen(now_ms: u64, reference: &str, record: &Operation) -> Value {
    let view = record.view(now_ms);
    json!({
        "operation": reference,
        "state": view.state.as_str(),
        "executed": view.executed,
        "safe_new_key": view.safe_new_key,
        "disputed": view.disputed,
        "held": view.held,
        "erased": view.erased,
        "expired": record.is_expired(now_ms),
        "attempts": view.attempts,
        "unsettled": view.unsettled,
        "revision": view.revision,
        "key_kind": record.kind().as_str(),
        "bound": record.is_bound(),
        "fingerprint": record.fingerprint().map(|fingerprint| fingerprint.to_string()),
        "has_answer": record.has_stored_answer(),
        "claimed_ms": record.claimed_ms(),
        "dispatched_ms": record.dispatched_ms(),
        "settled_ms": record.settled_ms(),
        "courier_ends_ms": record.courier_ends_ms(),
        "terms": record.terms(),
    })
}

fn content(answer: &Answer) -> Value {
    let bytes = answer
        .body
        .as_ref()
        .map_or_else(Vec::new, |body| Uint8Array::new(body).to_vec());
    json!({
        "status": answer.status,
        "headers": answer.headers,
        "body_base64": STANDARD.encode(bytes),
    })
}

fn told(reference: &str, seen: &Value) -> Result<Response> {
    ResponseBuilder::new()
        .with_header(header::OPERATION, reference)?
        .with_header("cache-control", "no-store")?
        .from_json(seen)
}

fn unknown(reference: &str) -> Result<Response> {
    answer::turn_away(&Problem::new(Code::OperationUnknown), reference)
}
