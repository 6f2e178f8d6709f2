//! What the gate has on record of one operation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::client::Client;
use crate::error::Error;

const PATIENCE: Duration = Duration::from_secs(10);

/// An operation, by whom its key belongs to.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "the kinds of keys that there are")]
pub enum Whose<'a> {
    /// The key of a message or a job, of this scope of claims.
    Claims(&'a str),
    /// A client's key, of this tenant.
    Scope(&'a str),
}

/// The record.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// The reference.
    pub operation: String,
    /// As docs/operations.md names it.
    pub state: String,
    /// How often the origin was called, or the claim taken.
    pub attempts: u64,
}

impl Client {
    /// What is known of a key. `None`: nothing. Needs one of `ADMIN_SECRETS`.
    ///
    /// # Errors
    /// [`Error::NoAnswer`]: the gate is out of reach. [`Error::Refused`]: it does not tell, and says why.
    pub async fn record(&self, whose: Whose<'_>, key: &str) -> Result<Option<Record>, Error> {
        let whose = match whose {
            Whose::Claims(scope) => ("claim_scope", scope),
            Whose::Scope(scope) => ("scope", scope),
        };
        let doing = "looking up an operation".to_owned();
        let query = [whose, ("key", key)];
        let call = Call::asking(self, &["admin", "operations"], &query, doing);
        match call.send(PATIENCE).await {
            Ok(answer) => answer.read().map(Some),
            Err(error) if error.code() == Some("operation_unknown") => Ok(None),
            Err(error) => Err(error),
        }
    }
}
