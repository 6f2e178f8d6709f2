//! The requests with which a shard sends a courier.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::operation::{Inquiry, Terms};
use worker::{Headers, Method, Request, Result};

use crate::arrived::path_and_query;
use crate::config::Config;
use crate::message::{self, Cancel, Claim, Dispatch, Errand};
use crate::wire;

/// Below the gate's own prefix, so that it reaches the Worker whatever the assets are.
const COURIER_URL: &str = "https://courier/.oncegate/courier";

/// Where a ledger origin is asked to cancel (rule L6).
const LEDGER_CANCEL: &str = "/.oncegate/ledger/cancel";

/// The request for the origin, on its way to a courier: the body's stream is passed on unread.
pub(crate) fn attempt(
    request: &Request,
    claim: &Claim,
    attempt: u32,
    terms: &Terms,
    config: &Config,
) -> Result<Request> {
    let url = request.inner().url();
    let dispatch = Dispatch {
        errand: Errand::Attempt,
        operation: claim.operation.clone(),
        key: claim.key.clone(),
        kind: claim.kind,
        fingerprint: claim.fingerprint,
        attempt,
        terms: terms.clone(),
        path_and_query: path_and_query(&url).to_owned(),
    };
    let headers = request.headers().clone();
    message::attach_sealed(&headers, &dispatch, config)?;
    let body = request.inner().body().map(Into::into);
    wire::request(COURIER_URL, request.method(), headers, body)
}

/// The question for the ledger, on its way to a courier. `terms` are the record's.
pub(crate) fn cancel(
    cancel: &Cancel,
    inquiry: Inquiry,
    terms: &Terms,
    config: &Config,
) -> Result<Request> {
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
    let headers = Headers::new();
    message::attach_sealed(&headers, &dispatch, config)?;
    wire::request(COURIER_URL, Method::Post, headers, None)
}
