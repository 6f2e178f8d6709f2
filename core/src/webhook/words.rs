//! In which words an event is acknowledged, and in which it is not, so that its sender sends it again.
//!
//! Invariant: only what was executed is acknowledged, or what lies in the queue. A status that would make
//! a sender give up for good (410) is never given.

use alloc::borrow::ToOwned;
use alloc::string::String;

use super::{Scheme, Webhook};
use crate::outcome::Status;

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// An answer for a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "an answer consists of these parts"
)]
pub struct Word {
    /// The HTTP status.
    pub status: u16,
    /// `Content-Type`, if there is a body.
    pub content_type: Option<&'static str>,
    /// The body.
    pub body: String,
}

impl Word {
    fn new(status: u16, content_type: &'static str, body: &str) -> Self {
        Self {
            status,
            content_type: Some(content_type),
            body: body.to_owned(),
        }
    }

    fn empty(status: u16) -> Self {
        Self {
            status,
            content_type: None,
            body: String::new(),
        }
    }
}

impl Webhook {
    /// What the sender is told of an answer of this status about an operation in this state; `None` if
    /// that answer says it already.
    pub fn word(&self, state: Option<Status>, status: u16) -> Option<Word> {
        match state {
            Some(Status::Executed | Status::Replayed) => Some(self.acknowledgement()),
            _ => self.refusal(status),
        }
    }

    /// The event need not be sent again.
    pub fn acknowledgement(&self) -> Word {
        match &self.scheme {
            Scheme::Alipay => Word::new(200, TEXT, "success"),
            Scheme::Wechat => Word::new(200, JSON, r#"{"code":"SUCCESS","message":"成功"}"#),
            Scheme::Hmac(rule) => match &rule.success {
                Some(word) => Word::new(200, TEXT, word),
                None => Word::empty(200),
            },
            Scheme::Github | Scheme::Standard | Scheme::Stripe => Word::empty(200),
        }
    }

    /// The event was not taken.
    fn refusal(&self, status: u16) -> Option<Word> {
        let said = match status {
            410 => 409,
            400..=599 => status,
            _ => 503,
        };
        let word = match &self.scheme {
            Scheme::Alipay => Word::new(said, TEXT, "fail"),
            Scheme::Wechat => Word::new(said, JSON, r#"{"code":"FAIL","message":"失败"}"#),
            Scheme::Hmac(rule) => match &rule.fail {
                Some(word) => Word::new(said, TEXT, word),
                None => Word::empty(said),
            },
            Scheme::Github | Scheme::Standard | Scheme::Stripe => Word::empty(said),
        };
        // Whoever reads the status only may as well read why.
        let says_it = word.body.is_empty() && said == status;
        (!says_it).then_some(word)
    }
}
