//! Answers that say what is wrong (RFC 9457).

use serde::Serialize;

use crate::ledger::Answer;

/// A problem, ready to be answered or stored.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Problem {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
}

impl Problem {
    /// A problem with a machine-readable `code`, a `title` that is always the same for this code, and
    /// a `detail` about this case.
    pub(crate) fn new(
        status: u16,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            r#type: format!("urn:oncegate:problem:{code}"),
            title,
            status,
            detail: detail.into(),
            code,
            field: None,
        }
    }

    /// Names the part of the request body that is to blame.
    #[cfg(feature = "shop")]
    pub(crate) fn in_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub(crate) fn to_answer(&self) -> Answer {
        Answer {
            status: self.status,
            headers: vec![("content-type".into(), "application/problem+json".into())],
            body: serde_json::to_vec(self).expect("a problem is text and numbers"),
        }
    }
}
