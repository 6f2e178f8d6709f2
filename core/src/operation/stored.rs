//! Records as they are stored, with their version.
//!
//! Invariant: a reader that does not know the version of a record refuses it. It must never count as
//! absent (rule I5). Each version that a released gate has written is read for ever; only the newest
//! one is written.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::attempts::Attempts;
use super::record::{AnswerMark, Operation};
use super::vocabulary::{State, Terms};
use crate::fingerprint::Fingerprint;
use crate::key::KeyKind;
use crate::proof::{Origin, Rules};

/// What the first version knew as a constant.
const SETTLE_AFTER_MS: u64 = 15 * 60 * 1_000;

/// A record with its version. Make it from a record with `Stored::from`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "v")]
#[non_exhaustive]
pub enum Stored {
    /// The first version.
    #[serde(rename = "1")]
    V1(V1),
    /// The second one: principals, rules of the route, revisions.
    #[serde(rename = "2")]
    V2(Box<Operation>),
}

impl Stored {
    /// The record, in today's form.
    pub fn into_record(self) -> Operation {
        match self {
            Self::V1(record) => record.into(),
            Self::V2(record) => *record,
        }
    }
}

impl From<Operation> for Stored {
    fn from(record: Operation) -> Self {
        Self::V2(Box::new(record))
    }
}

/// A record of the first version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct V1 {
    state: State,
    kind: KeyKind,
    terms: TermsV1,
    fingerprint: Option<Fingerprint>,
    refused: Vec<Fingerprint>,
    refusal: bool,
    attempt: u32,
    since: u32,
    unsettled: Attempts,
    answer: AnswerMark,
    disputed: bool,
    settled_by: Option<u32>,
    claimed_ms: u64,
    dispatched_ms: u64,
    settled_ms: u64,
    seen_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TermsV1 {
    origin: Origin,
    lease_ms: u64,
    result_ttl_ms: u64,
    key_ttl_ms: u64,
    ledger_retention_ms: u64,
}

impl From<V1> for Operation {
    fn from(old: V1) -> Self {
        Self {
            state: old.state,
            kind: old.kind,
            terms: old.terms.into(),
            principal: None,
            fingerprint: old.fingerprint,
            refused: old.refused,
            refusal: old.refusal,
            attempt: old.attempt,
            since: old.since,
            unsettled: old.unsettled,
            streamed: None,
            answer: old.answer,
            erased: false,
            disputed_ms: old.disputed.then_some(old.seen_ms),
            settled_by: old.settled_by,
            claimed_ms: old.claimed_ms,
            dispatched_ms: old.dispatched_ms,
            settled_ms: old.settled_ms,
            seen_ms: old.seen_ms,
            revision: 0,
        }
    }
}

impl From<TermsV1> for Terms {
    fn from(old: TermsV1) -> Self {
        Self {
            route: String::new(),
            origin: old.origin,
            lease_ms: old.lease_ms,
            result_ttl_ms: old.result_ttl_ms,
            key_ttl_ms: old.key_ttl_ms,
            ledger_retention_ms: old.ledger_retention_ms,
            settle_after_ms: SETTLE_AFTER_MS,
            finish: false,
            rules: Rules::default(),
        }
    }
}
