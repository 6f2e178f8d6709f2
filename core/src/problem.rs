//! The gate's own answers: RFC 9457 problems (rule P1), and the one mapping from what happened to
//! what is said.

mod code;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use serde::Serialize;

pub use self::code::Code;
use crate::operation::{ResolveError, State, View};
use crate::policy::{KeyFault, MissingKey};

/// A problem, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// Identifies the kind of problem.
    pub r#type: String,
    /// The kind of problem, for people.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// This problem, for people, and what to do.
    pub detail: Cow<'static, str>,
    /// The kind of problem, for programs.
    pub code: Code,
    /// The operation's reference, if there is one.
    pub operation: Option<String>,
    /// The operation's state, if there is one.
    pub state: Option<&'static str>,
    /// Whether the effect happened; `null` while that is open, or where this answer says nothing
    /// about an earlier request.
    pub executed: Option<bool>,
    /// Whether the same request with the same key may be sent again.
    pub retryable: bool,
    /// When, in milliseconds from now.
    pub retry_after_ms: Option<u64>,
    /// Whether a new key is safe (rule I8).
    pub safe_new_key: bool,
}

impl Problem {
    /// A problem that says nothing about an earlier request.
    pub fn new(code: Code) -> Self {
        Self {
            r#type: format!("urn:oncegate:problem:{}", code.as_str()),
            title: code.title(),
            status: code.status(),
            detail: Cow::Borrowed(code.advice()),
            code,
            operation: None,
            state: None,
            executed: None,
            retryable: code.retryable(),
            retry_after_ms: None,
            safe_new_key: false,
        }
    }

    /// A problem about an operation.
    pub fn about(code: Code, operation: &str, view: &View) -> Self {
        if code == Code::PrincipalMismatch {
            return Self::new(code);
        }
        Self {
            detail: Cow::Borrowed(advice_about(code, view)),
            operation: Some(String::from(operation)),
            state: Some(view.state.as_str()),
            executed: view.executed,
            retryable: code.retryable() && !view.held,
            safe_new_key: view.safe_new_key,
            ..Self::new(code)
        }
    }

    /// A request without a key was lost on its way to the origin.
    pub fn unkeyed() -> Self {
        Self {
            detail: Cow::Borrowed(
                "It may have happened, and it had no key. Look it up before sending it again.",
            ),
            retryable: false,
            ..Self::new(Code::OutcomeUnknown).met_with(502)
        }
    }

    /// Puts `reason` in front of the advice.
    #[must_use]
    pub fn because(mut self, reason: impl core::fmt::Display) -> Self {
        self.detail = Cow::Owned(format!("{reason}. {}", self.code.advice()));
        self
    }

    /// Says when to send again, if that is of use.
    #[must_use]
    pub fn retry_after(mut self, wait_ms: impl Into<Option<u64>>) -> Self {
        self.retry_after_ms = wait_ms.into().filter(|_| self.retryable);
        self
    }

    /// Answers to the one whose attempt met the fault: 502 and 504 instead of the 409 that a
    /// duplicate gets.
    #[must_use]
    pub fn met_with(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

/// A new key is advised only where it is safe: elsewhere it could do the same thing twice.
fn advice_about(code: Code, view: &View) -> &'static str {
    match (code, view.executed) {
        (Code::KeyReused, Some(true)) if view.generated => {
            "What this request names was done for another one. The key is in the request itself: a new operation has another one there."
        }
        (Code::KeyReused, _) if view.generated => {
            "Another request for the same thing came first, and nothing is settled yet. Send that one again; this one cannot take its place."
        }
        (Code::KeyReused, Some(true)) => {
            "The first request was executed. For a new operation, and only for one, use a new key."
        }
        (Code::KeyReused, _) if view.safe_new_key => {
            "Nothing came of the first request. Use a new key for this one."
        }
        (Code::TokenExpired, _) if view.safe_new_key => {
            "It was never used, and nothing happened. Get a new one."
        }
        (Code::OperationRefused, _) if view.safe_new_key => {
            "Nothing happened. You may use a new key."
        }
        (Code::OutcomeUnknown, None) if view.held => {
            "Do not use another key: it may already have happened. Only a person can find out now."
        }
        (Code::OutcomeUnknown, None) if view.state == State::Released => {
            "Nothing has happened so far. Send the same request again with the same key."
        }
        _ => code.advice(),
    }
}

impl From<&KeyFault> for Problem {
    fn from(fault: &KeyFault) -> Self {
        match fault {
            KeyFault::Ambiguous { .. } | KeyFault::Invalid(_) => {
                Self::new(Code::KeyInvalid).because(fault)
            }
            // The advice says it already.
            KeyFault::Missing(MissingKey::Header) => Self::new(Code::KeyMissing),
            KeyFault::Missing(_) => Self::new(Code::KeyMissing).because(fault),
        }
    }
}

impl From<ResolveError> for Problem {
    fn from(error: ResolveError) -> Self {
        let problem = Self::new(Code::ResolutionRefused);
        match error {
            ResolveError::Executed => problem.because("there is proof that it was executed"),
            ResolveError::Settled(state) => {
                problem.because(format_args!("it is {} already", state.as_str()))
            }
            ResolveError::TooEarly { until_ms } => problem.because(format_args!(
                "until {} UTC ({until_ms} ms since 1970) an attempt may still be under way",
                time_of_day(until_ms)
            )),
            ResolveError::Revision { current } => problem.because(format_args!(
                "it has changed since you looked at it; its revision is {current} now"
            )),
        }
    }
}

/// Hours and minutes in UTC of the first whole minute that is not before `ms`.
fn time_of_day(ms: u64) -> String {
    let minutes = ms.div_ceil(60_000) % (24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests;
