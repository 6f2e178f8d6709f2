//! What a person asks of one operation, and does to it.
//!
//! Invariant: a person decides by what was seen: what is settled by hand names the record's version
//! (rule I3), and what the record forbids stays forbidden.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use js_sys::Uint8Array;
use oncegate_core::header;
use oncegate_core::operation::{NotSettled, Operation, Resolution};
use oncegate_core::problem::{Code, Problem};
use oncegate_store::Written;
use serde_json::{Value, json};
use worker::{Date, Response, ResponseBuilder, Result};

use super::Inner;
use super::row::Found;
use crate::answer::{self, Answer};
use crate::message::{Erase, Inspect, Resolve};
use crate::waiters::News;

impl Inner {
    /// Everything that is known of an operation, but for its content, which has to be asked for.
    pub(super) fn inspect(&self, inspect: &Inspect) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let found = self.find(now_ms, &inspect.operation)?;
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
        let resolution = Resolution {
            revision: resolve.revision,
            outcome: resolve.outcome,
        };
        self.change(&resolve.operation, |record, now_ms| {
            record.resolve(now_ms, resolution).map_err(Problem::from)
        })
    }

    /// Forgets the content of an operation, and keeps that it happened.
    pub(super) fn erase(&self, erase: &Erase) -> Result<Response> {
        self.change(&erase.operation, |record, now_ms| {
            let reason = "it is not settled: an attempt may be under way, and needs its content";
            let erased = record.erase(now_ms);
            erased.map_err(|NotSettled| Problem::new(Code::ResolutionRefused).because(reason))
        })
    }

    /// Changes a record by a person's word, unless there is none or the word does not count.
    fn change(
        &self,
        reference: &str,
        change: impl FnOnce(Operation, u64) -> std::result::Result<Operation, Problem>,
    ) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let Found { row, record, .. } = self.find(now_ms, reference)?;
        let Some(record) = record else {
            return unknown(reference);
        };
        let record = match change(record, now_ms) {
            Ok(record) => record,
            Err(problem) => return answer::turn_away(&problem, reference),
        };
        let seen = seen(now_ms, reference, &record);
        self.keep(now_ms, row, record, Written::NOTHING)?;
        // What was erased must not wait in the older table.
        self.store(now_ms)?.forget_earlier(&row.operation)?;
        self.waiters.tell(&row.operation, &News::Record);
        told(reference, &seen)
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
