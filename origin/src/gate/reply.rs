//! An answer and what it says of the operation.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::header;
use oncegate_core::ledger::Recorded;
use oncegate_core::outcome::Outcome;

use crate::ledger::{Answer, Failure, Verdict};
use crate::log;
use crate::metrics::{self, Event};
use crate::problem::Problem;
use crate::sql::Busy;

pub(super) const OUTCOME: HeaderName = HeaderName::from_static(header::IDEMPOTENCY_OUTCOME);
pub(super) const FINGERPRINT: HeaderName = HeaderName::from_static(header::FINGERPRINT);

/// An answer, and what it says of the operation. Without an outcome it proves nothing.
#[derive(Debug)]
pub(crate) struct Reply {
    answer: Answer,
    outcome: Option<Outcome>,
    /// What the outcome is of, if it is not what was asked for (L5).
    recorded: Option<Fingerprint>,
    retry_after_s: Option<u32>,
}

impl Reply {
    /// What probe and cancel say.
    pub(crate) fn of_state(outcome: Outcome) -> Self {
        Self::from(Answer {
            status: 200,
            headers: vec![(CONTENT_TYPE.to_string(), "application/json".into())],
            body: format!("{{\"outcome\":\"{outcome}\"}}").into_bytes(),
        })
        .with_outcome(outcome)
    }

    /// The answer to an attempt that ended before it reached the ledger.
    pub(crate) fn did_nothing(problem: Problem) -> Self {
        Self::from(problem).with_outcome(Outcome::NotExecuted)
    }

    pub(crate) fn with_outcome(self, outcome: Outcome) -> Self {
        Self {
            outcome: Some(outcome),
            ..self
        }
    }

    /// The outcome is that of another request under the same key: the gate takes the state from it,
    /// and not the answer.
    pub(crate) fn with_recorded(self, recorded: Recorded) -> Self {
        Self {
            outcome: Some(recorded.state.outcome()),
            recorded: Some(recorded.fingerprint),
            ..self
        }
    }

    pub(crate) fn with_retry_after(self, seconds: u32) -> Self {
        Self {
            retry_after_s: Some(seconds),
            ..self
        }
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self {
            answer,
            outcome: None,
            recorded: None,
            retry_after_s: None,
        }
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Self {
        problem.to_answer().into()
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        log::error("attempt", &failure);
        match failure {
            Failure::InProgress => {}
            Failure::NotExecuted(_) => metrics::count(Event::NotExecuted),
            Failure::Unknown(_) => metrics::count(Event::Unknown),
        }
        match failure {
            Failure::InProgress => Self::from(Problem::new(
                409,
                "in_progress",
                "Another attempt is at work",
                "Another attempt holds the key. Send the same request again a little later.",
            ))
            .with_outcome(Outcome::InProgress)
            .with_retry_after(1),
            Failure::NotExecuted(cause) => Self::did_nothing(Problem::new(
                503,
                "not_executed",
                "Nothing was done",
                match cause.is::<Busy>() {
                    true => "The database is busy. Nothing was done. Send the same request again a little later.",
                    false => "Something went wrong. Nothing was done. Send the same request again.",
                },
            ))
            .with_retry_after(1),
            Failure::Unknown(_) => Self::from(Problem::new(
                500,
                "internal_error",
                "Something went wrong",
                "It is not known whether anything was done. Send the same request again with the same key.",
            )),
        }
    }
}

impl From<Verdict> for Reply {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Cancelled => Self::from(Problem::new(
                410,
                "operation_cancelled",
                "The operation was cancelled",
                "It was cancelled before it had an effect. Begin a new one with a new key.",
            ))
            .with_outcome(Outcome::Cancelled),
            Verdict::Executed(answer) => Self::from(answer).with_outcome(Outcome::Executed),
            Verdict::OtherFingerprint(recorded) => Self::from(Problem::new(
                422,
                "key_reused",
                "The key belongs to another request",
                format!(
                    "An operation with this key asked for something else and was {}.",
                    recorded.state.as_str()
                ),
            ))
            .with_recorded(recorded),
            Verdict::Refused(answer) => Self::from(answer).with_outcome(Outcome::Refused),
        }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.answer.body));
        *response.status_mut() =
            StatusCode::from_u16(self.answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        for (name, value) in self.answer.headers {
            // They were stored by this program, so they are names and values of headers.
            if let (Ok(name), Ok(value)) =
                (HeaderName::try_from(name), HeaderValue::try_from(value))
            {
                headers.append(name, value);
            }
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(outcome) = self.outcome {
            headers.insert(OUTCOME, HeaderValue::from_static(outcome.as_str()));
        }
        if let Some(fingerprint) = self.recorded {
            let hexadecimal = HeaderValue::try_from(fingerprint.to_string());
            headers.extend(hexadecimal.map(|value| (FINGERPRINT, value)));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
