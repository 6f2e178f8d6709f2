//! Names of the header fields of the contract, in lower case.

/// Client to gate, and gate to origin: the name of the operation.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Origin to gate: what became of the operation ([`Outcome`](crate::outcome::Outcome)).
pub const IDEMPOTENCY_OUTCOME: &str = "idempotency-outcome";
/// Gate to client: the state of the operation ([`Status`](crate::outcome::Status)).
pub const IDEMPOTENCY_STATUS: &str = "idempotency-status";
/// Gate to client: `true` on an answer that was stored earlier.
pub const IDEMPOTENCY_REPLAYED: &str = "idempotency-replayed";
/// Gate to client: how long the key is remembered, in seconds from the first request.
pub const IDEMPOTENCY_KEY_LIFETIME: &str = "idempotency-key-lifetime";
/// Gate to client: how the request was decided: `dispatched`, `replayed`, `waited` or a problem's
/// code. Without it, on the answer of an attempt, the first one is meant.
pub const DECISION: &str = "oncegate-decision";
/// Gate to origin: the number of this hand-over, from 1.
pub const ATTEMPT: &str = "oncegate-attempt";
/// Gate to origin and to client: the operation's public reference.
pub const OPERATION: &str = "oncegate-operation";
/// Gate to origin and to client: who made the key ([`KeyKind`](crate::key::KeyKind)).
pub const KEY_KIND: &str = "oncegate-key-kind";
/// Gate to origin: the [`Fingerprint`](crate::fingerprint::Fingerprint), in hexadecimal.
pub const FINGERPRINT: &str = "oncegate-fingerprint";
/// Gate to the webhook of an alert: proof that the alert comes from the gate.
pub const ALERT_SIGNATURE: &str = "oncegate-alert-signature";
/// Gate to origin: proof that the call comes from the gate ([`signature`](crate::signature)).
pub const SIGNATURE: &str = "oncegate-signature";
/// Client to gate: what proves that a lock is its own ([`Owner`](crate::lock::Owner)).
pub const OWNER: &str = "oncegate-owner";
/// Gate to client, and back: a place in line for a lock ([`Place`](crate::lock::Place)).
pub const PLACE: &str = "oncegate-place";

/// Of an origin's answer: what every replay repeats (rule P5). Everything else, cookies and challenges above
/// all, belongs to the first answer only.
pub const REPLAYED: [&str; 8] = [
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
];
