//! How a `read` origin is asked what became of a key (rules A6, A7).
//!
//! What it says counts only if a status is listed: a bare 404 of something in between proves nothing.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::config::RouteConfig;
use super::error::Fault;
use super::outcome::{check_statuses, disjoint};
use crate::outcome::Outcome;
use crate::proof::Origin;

/// Where the key stands in the path of a question.
const KEY: &str = "{key}";

/// How an origin is asked, as written in the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct AskConfig {
    /// The path of a GET, and its query, with `{key}` where the key belongs.
    pub path: String,
    /// Statuses that say that it was executed.
    pub executed: Vec<u16>,
    /// Statuses that say that it was not.
    #[serde(default)]
    pub not_executed: Vec<u16>,
    /// Statuses that say that it was refused.
    #[serde(default)]
    pub refused: Vec<u16>,
}

/// How an origin is asked.
#[derive(Clone, Debug)]
pub struct Ask(AskConfig);

impl Ask {
    pub(super) fn new(config: &RouteConfig) -> Result<Option<Self>, Fault> {
        let error = |reason| Err(Fault::new("ask", reason));
        let Some(ask) = config.ask.clone() else {
            return match (config.origin, config.finish) {
                (Origin::Read, true) => error("is missing: with finish, the gate asks this origin"),
                _ => Ok(None),
            };
        };
        if config.origin != Origin::Read {
            return error("goes with origin = \"read\"");
        }
        let is_path = ask.path.starts_with('/') && !ask.path.contains(['#', ' ']);
        if !is_path || ask.path.matches(KEY).count() != 1 {
            return error("has no path such as /payments/by-key/{key}, with {key} once");
        }
        let lists = [&ask.executed, &ask.not_executed, &ask.refused];
        for list in lists {
            check_statuses("ask", list)?;
        }
        disjoint("ask", &lists.map(Vec::as_slice))?;
        if ask.executed.is_empty() || (ask.not_executed.is_empty() && ask.refused.is_empty()) {
            return error("lists no status for executed, or none for not_executed or refused");
        }
        Ok(Some(Self(ask)))
    }

    /// Path and query of the question about this key.
    pub fn path_and_query(&self, key: &str) -> String {
        self.0.path.replace(KEY, &encode(key))
    }

    /// What an answer with this status says.
    pub fn judge(&self, status: u16) -> Outcome {
        let listed = |list: &[u16]| list.contains(&status);
        if listed(&self.0.executed) {
            Outcome::Executed
        } else if listed(&self.0.not_executed) {
            Outcome::NotExecuted
        } else if listed(&self.0.refused) {
            Outcome::Refused
        } else {
            Outcome::Unknown
        }
    }
}

/// Encodes everything but unreserved characters: a key must not reach out of its segment.
fn encode(key: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a6_a_key_cannot_reach_out_of_its_place() {
        assert_eq!(encode("a-1_~"), "a-1_~");
        assert_eq!(encode("../x?y#z"), "%2E%2E%2Fx%3Fy%23z");
        assert_eq!(encode("é %"), "%C3%A9%20%25");
    }
}
