//! The requests with which a shard sends a courier.

use js_sys::ArrayBuffer;
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::identity::Identity;
use oncegate_core::operation::{Inquiry, Operation, Terms};
use oncegate_core::policy::Ask;
use oncegate_core::proof::Origin;
use worker::Result;

use crate::arrived::path_and_query;
use crate::config::Config;
use crate::message::{self, Cancel, Claim, Dispatch, Errand};
use crate::shard::Sendable;
use crate::wire::{Call, Told};

/// Below the gate's own prefix, so that it reaches the Worker whatever the assets are.
const COURIER_URL: &str = "https://courier/.oncegate/courier";

/// Where a ledger origin is asked to cancel, and what became of a key (rule L6).
const LEDGER_CANCEL: &str = "/.oncegate/ledger/cancel";
const LEDGER_PROBE: &str = "/.oncegate/ledger/probe";

/// No header fields of a client's, as an enclosure.
const NOTHING: &str = "[]";

/// The body of a request on its way to a courier.
pub(crate) enum Body {
    /// The stream of the request that has arrived, passed on unread.
    Unread,
    /// Bytes that were read to be stored.
    Read(Option<ArrayBuffer>),
}

/// The request for the origin, on its way to a courier.
pub(crate) fn attempt(
    told: &Told,
    body: Body,
    claim: &Claim,
    attempt: u32,
    terms: &Terms,
    config: &Config,
) -> Result<Call> {
    let dispatch = Dispatch {
        errand: Errand::Attempt,
        operation: claim.operation.clone(),
        key: claim.key.clone(),
        kind: claim.kind,
        fingerprint: claim.fingerprint,
        attempt,
        terms: terms.clone(),
        path_and_query: path_and_query(&told.url).to_owned(),
    };
    let header = message::to_courier(&dispatch, &told.enclosed, config)?;
    let body = match body {
        Body::Unread => told.request.body().map(Into::into),
        Body::Read(bytes) => bytes.map(Into::into),
    };
    Call::new(COURIER_URL, &told.method, &header, body)
}

/// A stored request, on its way to the origin once more.
pub(crate) fn again(
    operation: &Identity,
    attempt: u32,
    request: &Sendable,
    record: &Operation,
    config: &Config,
) -> Result<Call> {
    let dispatch = Dispatch {
        attempt,
        path_and_query: request.head.path_and_query.clone(),
        ..about(Errand::Attempt, operation, request, record)
    };
    let enclosed = message::enclosure(&request.fields())?;
    let header = message::to_courier(&dispatch, &enclosed, config)?;
    let body = request.body().map(Into::into);
    Call::new(COURIER_URL, request.method(), &header, body)
}

/// The question what became of a key; `None` where the origin cannot be asked (any more).
pub(crate) fn ask(
    operation: &Identity,
    request: &Sendable,
    record: &Operation,
    inquiry: Inquiry,
    config: &Config,
) -> Result<Option<Call>> {
    let (method, path_and_query) = match record.terms().origin {
        Origin::Ledger => ("POST", LEDGER_PROBE.to_owned()),
        Origin::Read => match how_to_ask(record.terms(), config) {
            Some(ask) => ("GET", ask.path_and_query(&request.key()?)),
            None => return Ok(None),
        },
        Origin::None => return Ok(None),
    };
    let errand = Errand::Probe {
        asked_ms: inquiry.asked_ms,
    };
    let dispatch = Dispatch {
        attempt: inquiry.attempt,
        path_and_query,
        ..about(errand, operation, request, record)
    };
    let header = message::to_courier(&dispatch, NOTHING, config)?;
    Call::new(COURIER_URL, method, &header, None).map(Some)
}

/// How the origin of an operation is asked, if its route still says so.
pub(crate) fn how_to_ask<'a>(terms: &Terms, config: &'a Config) -> Option<&'a Ask> {
    config.policy.route(Some(&terms.route))?.ask.as_ref()
}

fn about(errand: Errand, operation: &Identity, request: &Sendable, record: &Operation) -> Dispatch {
    Dispatch {
        errand,
        operation: operation.reference(),
        key: request.head.key.clone(),
        kind: record.kind(),
        fingerprint: record.fingerprint().unwrap_or(Fingerprint::NONE),
        attempt: 0,
        terms: record.terms().clone(),
        path_and_query: String::new(),
    }
}

/// The question for the ledger, on its way to a courier. It is the ledger of the operation's own terms:
/// a key that was used on one route can be cancelled in the name of another.
pub(crate) fn cancel(
    cancel: &Cancel,
    inquiry: Inquiry,
    terms: &Terms,
    config: &Config,
) -> Result<Call> {
    let dispatch = Dispatch {
        errand: Errand::Cancel {
            principal: cancel.principal,
            asked_ms: inquiry.asked_ms,
        },
        operation: cancel.operation.clone(),
        key: cancel.key.clone(),
        kind: cancel.kind,
        fingerprint: inquiry.fingerprint.unwrap_or(Fingerprint::NONE),
        attempt: inquiry.attempt,
        terms: terms.clone(),
        path_and_query: LEDGER_CANCEL.to_owned(),
    };
    let header = message::to_courier(&dispatch, NOTHING, config)?;
    Call::new(COURIER_URL, "POST", &header, None)
}
