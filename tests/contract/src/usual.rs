//! A route and requests as most tests want them. Invariant: what a test does not say of them is said here, and only here.

use oncegate_core::fingerprint::{Fingerprint, Parts};
use oncegate_core::operation::Terms;
use oncegate_core::proof::{Origin, Rules};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A route's terms: the times are the gate's defaults.
pub fn terms(origin: Origin) -> Terms {
    Terms {
        route: "orders".to_owned(),
        origin,
        lease_ms: 30_000,
        result_ttl_ms: DAY_MS,
        key_ttl_ms: 7 * DAY_MS,
        ledger_retention_ms: 30 * DAY_MS,
        settle_after_ms: 900_000,
        finish: false,
        rules: Rules::default(),
    }
}

/// Of an order with this body: another number, another body.
pub fn fingerprint(body: u8) -> Fingerprint {
    fingerprint_of([body; 32])
}

/// Of an order whose body has this digest.
pub fn fingerprint_of(body_sha256: [u8; 32]) -> Fingerprint {
    Fingerprint::of(&Parts {
        method: "POST",
        path_and_query: "/orders",
        content_type: "application/json",
        content_encoding: "",
        body_sha256,
    })
}
