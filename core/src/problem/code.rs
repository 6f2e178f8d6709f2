//! The codes of problems: their statuses, titles and advice.

use serde::Serialize;

use crate::operation::Turn;

/// What the gate says no with. The name is the `code` of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract's list; a new code is a new version"
)]
pub enum Code {
    /// The body is not what the client announced, or could not be read whole.
    BodyIncomplete,
    /// The gate has no such endpoint.
    EndpointUnknown,
    /// The store did not answer, or holds a record of a newer version.
    GateUnavailable,
    /// An attempt is open.
    InProgress,
    /// The key has characters that a key cannot have.
    KeyInvalid,
    /// The route wants a key and there is none.
    KeyMissing,
    /// The key belongs to another request.
    KeyReused,
    /// Somebody else has the lock.
    LockBusy,
    /// The request for a lock is done: what it had was released, has ended, or it was called off.
    LockDone,
    /// The lock is not the caller's, or not any more.
    LockLost,
    /// The request came from this gate.
    LoopDetected,
    /// The platform cannot forward this method as it is.
    MethodUnsupported,
    /// Cancelled.
    OperationCancelled,
    /// Refused before.
    OperationRefused,
    /// The origin could not be reached.
    OriginUnreachable,
    /// No proof of what happened.
    OutcomeUnknown,
    /// There is no such operation.
    OperationUnknown,
    /// The path would match a protected route only in another spelling.
    PathNotCanonical,
    /// The operation is another principal's.
    PrincipalMismatch,
    /// The tenant has used up its share.
    QuotaExceeded,
    /// What a person asked for is not possible in the operation's state, or not yet.
    ResolutionRefused,
    /// More or larger header fields than an origin can be relied on to read.
    HeadersTooLarge,
    /// A call to the gate itself that does not say what it must.
    RequestInvalid,
    /// The body is larger than the route allows.
    RequestTooLarge,
    /// Executed, but the answer is no longer replayed.
    ResultExpired,
    /// Executed, but the answer was not stored.
    ResultUnavailable,
    /// The call must name a route, and names none that there is.
    RouteUnknown,
    /// The tenant or the principal cannot be told.
    ScopeMissing,
    /// A webhook's delivery that is not its sender's.
    SenderUnverified,
    /// The token has expired and has no record.
    TokenExpired,
    /// The key is no token of this gate's, or not one for this caller.
    TokenInvalid,
    /// The call needs a secret, and has none that the gate knows.
    Unauthorized,
}

impl Code {
    /// The `code` member.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BodyIncomplete => "body_incomplete",
            Self::EndpointUnknown => "endpoint_unknown",
            Self::GateUnavailable => "gate_unavailable",
            Self::HeadersTooLarge => "headers_too_large",
            Self::InProgress => "in_progress",
            Self::KeyInvalid => "key_invalid",
            Self::KeyMissing => "key_missing",
            Self::KeyReused => "key_reused",
            Self::LockBusy => "lock_busy",
            Self::LockDone => "lock_done",
            Self::LockLost => "lock_lost",
            Self::LoopDetected => "loop_detected",
            Self::MethodUnsupported => "method_unsupported",
            Self::OperationCancelled => "operation_cancelled",
            Self::OperationRefused => "operation_refused",
            Self::OperationUnknown => "operation_unknown",
            Self::OriginUnreachable => "origin_unreachable",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::PathNotCanonical => "path_not_canonical",
            Self::PrincipalMismatch => "principal_mismatch",
            Self::QuotaExceeded => "quota_exceeded",
            Self::RequestInvalid => "request_invalid",
            Self::RequestTooLarge => "request_too_large",
            Self::ResolutionRefused => "resolution_refused",
            Self::ResultExpired => "result_expired",
            Self::ResultUnavailable => "result_unavailable",
            Self::RouteUnknown => "route_unknown",
            Self::ScopeMissing => "scope_missing",
            Self::SenderUnverified => "sender_unverified",
            Self::TokenExpired => "token_expired",
            Self::TokenInvalid => "token_invalid",
            Self::Unauthorized => "unauthorized",
        }
    }

    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::BodyIncomplete
            | Self::KeyInvalid
            | Self::KeyMissing
            | Self::PathNotCanonical
            | Self::RequestInvalid
            | Self::RouteUnknown
            | Self::ScopeMissing => 400,
            Self::Unauthorized => 401,
            Self::PrincipalMismatch | Self::SenderUnverified | Self::TokenInvalid => 403,
            Self::EndpointUnknown | Self::OperationUnknown => 404,
            Self::InProgress
            | Self::LockBusy
            | Self::LockLost
            | Self::OperationRefused
            | Self::OutcomeUnknown
            | Self::ResolutionRefused
            | Self::ResultUnavailable => 409,
            Self::LockDone
            | Self::OperationCancelled
            | Self::ResultExpired
            | Self::TokenExpired => 410,
            Self::RequestTooLarge => 413,
            Self::KeyReused => 422,
            Self::QuotaExceeded => 429,
            Self::HeadersTooLarge => 431,
            Self::MethodUnsupported => 501,
            Self::OriginUnreachable => 502,
            Self::GateUnavailable => 503,
            Self::LoopDetected => 508,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::BodyIncomplete => "The request body did not arrive whole",
            Self::EndpointUnknown => "The gate has no such endpoint",
            Self::GateUnavailable => "The gate cannot decide right now",
            Self::HeadersTooLarge => "The request has too many or too large header fields",
            Self::InProgress => "The same request is being processed",
            Self::KeyInvalid => "The idempotency key is malformed",
            Self::KeyMissing => "The idempotency key is missing",
            Self::KeyReused => "The idempotency key belongs to another request",
            Self::LockBusy => "Somebody else has the lock",
            Self::LockDone => "This request for the lock is done",
            Self::LockLost => "The lock is not yours, or not any more",
            Self::LoopDetected => "The gate has called itself",
            Self::MethodUnsupported => "The gate does not know this method",
            Self::OperationCancelled => "The operation is cancelled",
            Self::OperationRefused => "The operation was refused",
            Self::OperationUnknown => "There is no such operation",
            Self::OriginUnreachable => "The origin cannot be reached",
            Self::OutcomeUnknown => "The operation has no final outcome yet",
            Self::PathNotCanonical => "The path is not in its canonical form",
            Self::RequestInvalid => "The call does not say what it must",
            Self::PrincipalMismatch => "The operation is somebody else's",
            Self::QuotaExceeded => "Too many new operations in a short time",
            Self::RequestTooLarge => "The request body is too large",
            Self::ResolutionRefused => "The operation cannot be settled so",
            Self::ResultExpired => "The operation was executed; its answer is no longer kept",
            Self::ResultUnavailable => "The operation was executed; its answer was not kept",
            Self::RouteUnknown => "There is no such route",
            Self::ScopeMissing => "It cannot be told whose request this is",
            Self::SenderUnverified => "The event is not its sender's",
            Self::TokenExpired => "The token has expired",
            Self::TokenInvalid => "The key is no token that was issued for this request",
            Self::Unauthorized => "The call needs a secret that the gate knows",
        }
    }

    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::BodyIncomplete => {
                "Nothing was forwarded. Send the request again with the same key."
            }
            Self::EndpointUnknown => "docs/protocol.md lists them, with their methods.",
            Self::GateUnavailable | Self::OriginUnreachable | Self::QuotaExceeded => {
                "Send the same request with the same key again later."
            }
            Self::InProgress => {
                "Wait, then send the same request with the same key to get its answer."
            }
            Self::KeyInvalid => "Correct the key.",
            Self::KeyMissing => {
                "Name the operation: in the Idempotency-Key header, or where this route takes it from."
            }
            Self::KeyReused => {
                "Send the first request again to get its answer; do not use another key."
            }
            Self::LockBusy => {
                "Ask again with the same key, and with the place if you were given one."
            }
            Self::LockDone => "Ask for the lock under a new key.",
            Self::LockLost => {
                "Stop what you do under it: somebody else may have it. What is protected turns you away by your fence."
            }
            Self::LoopDetected => {
                "Nothing was forwarded. The gate's origin must not be the gate itself."
            }
            Self::MethodUnsupported => "Nothing was forwarded. Use a method of RFC 9110 or PATCH.",
            Self::OperationCancelled => "Nothing happened and nothing will. Use a new key.",
            Self::OperationRefused => "Nothing happened. This request will not be tried again.",
            Self::OperationUnknown => "It was never seen, or its record has expired.",
            Self::OutcomeUnknown => {
                "Do not use another key: it may already have happened. Ask again with the same key."
            }
            Self::PathNotCanonical => "Use the path exactly as it is documented.",
            Self::PrincipalMismatch => "Nothing can be said of it. Use a key of your own.",
            Self::ResolutionRefused => "Look at the operation again before you settle it.",
            Self::ScopeMissing => {
                "Nothing was forwarded. Send the credential or header that this route takes it from."
            }
            Self::HeadersTooLarge => "Nothing was forwarded. Send fewer or shorter header fields.",
            Self::RequestInvalid => {
                "Nothing was changed. docs/protocol.md and docs/operations.md say what it takes."
            }
            Self::RequestTooLarge => "Nothing was forwarded. Send a smaller body.",
            Self::RouteUnknown => "Name the route: ?route=<its name in the configuration>.",
            Self::SenderUnverified => {
                "Nothing was forwarded. docs/webhooks.md says what is verified, and with which keys."
            }
            Self::TokenExpired => {
                "Whether it was used is not known any more. Look it up at the service itself."
            }
            Self::TokenInvalid => {
                "Nothing was forwarded. Get a token from the gate: POST /.oncegate/v1/tokens."
            }
            Self::Unauthorized => "Send one of its secrets: Authorization: Bearer <secret>.",
            Self::ResultExpired | Self::ResultUnavailable => {
                "It happened once and will not happen again. Look it up at the service itself."
            }
        }
    }

    pub(super) fn retryable(self) -> bool {
        matches!(
            self,
            Self::BodyIncomplete
                | Self::GateUnavailable
                | Self::InProgress
                | Self::LockBusy
                | Self::OriginUnreachable
                | Self::OutcomeUnknown
                | Self::QuotaExceeded
        )
    }
}

impl From<Turn> for Code {
    fn from(turn: Turn) -> Self {
        match turn {
            Turn::Cancelled => Self::OperationCancelled,
            Turn::KeyReused => Self::KeyReused,
            Turn::PrincipalMismatch => Self::PrincipalMismatch,
            Turn::Refused => Self::OperationRefused,
            Turn::ResultExpired => Self::ResultExpired,
            Turn::ResultUnavailable => Self::ResultUnavailable,
            Turn::Unknown => Self::OutcomeUnknown,
        }
    }
}
