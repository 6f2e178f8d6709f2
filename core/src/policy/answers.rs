//! What is kept of a route's answers, and how they are passed on (rules P5, P6).

use alloc::string::String;
use alloc::vec::Vec;

use super::config::{RouteConfig, Store};
use super::error::Fault;
use super::names::header_name;
use crate::header::REPLAYED;

/// The largest answer that can be kept: rows hold 2 MB.
pub const LARGEST_STORED_BYTES: u64 = 1_900_000;

/// What is kept of answers, and how they are passed on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answers {
    /// Whether they are passed on as they come, and never kept.
    pub stream: bool,
    /// The largest one that is kept, header fields and body, in bytes.
    pub max_bytes: u64,
    /// What is kept.
    pub store: Store,
    /// Whether what is kept is encrypted.
    pub seal: bool,
    /// Header fields that replays repeat beside those of the contract, in lower case.
    pub replay_headers: Vec<String>,
}

impl Answers {
    pub(super) fn new(config: &RouteConfig) -> Result<Self, Fault> {
        let max_bytes = config.max_answer_bytes.unwrap_or(LARGEST_STORED_BYTES);
        let keeps_body = !config.stream && config.store == Store::Answer;
        let rules = [
            (
                max_bytes > LARGEST_STORED_BYTES,
                "max_answer_bytes",
                "is over 1900000, what a row can hold",
            ),
            (
                config.max_answer_bytes.is_some() && !keeps_body,
                "max_answer_bytes",
                "has no meaning where answers are not kept",
            ),
            (
                !config.replay_headers.is_empty() && !keeps_body,
                "replay_headers",
                "have no meaning where answers are not kept",
            ),
            (
                config.stream && config.store == Store::Status,
                "store",
                "has no meaning with stream: nothing of the answer is kept",
            ),
            (
                config.seal && !keeps_body && !config.finish,
                "seal",
                "has no meaning where neither answers nor requests are kept",
            ),
        ];
        if let Some((_, field, reason)) = rules.into_iter().find(|(broken, ..)| *broken) {
            return Err(Fault::new(field, reason));
        }
        let mut replay_headers = Vec::new();
        for name in &config.replay_headers {
            let name = replayed(name)?;
            let is_there = replay_headers.contains(&name) || REPLAYED.contains(&&*name);
            if is_there {
                let reason = "names a header field that is replayed already";
                return Err(Fault::new("replay_headers", reason));
            }
            replay_headers.push(name);
        }
        Ok(Self {
            stream: config.stream,
            max_bytes,
            store: config.store,
            seal: config.seal,
            replay_headers,
        })
    }
}

fn replayed(name: &str) -> Result<String, Fault> {
    let error = |reason| Fault::new("replay_headers", reason);
    let name = header_name(name).map_err(error)?;
    let is_gates = name.starts_with("access-control-") || name.starts_with("idempotency-");
    match is_gates || matches!(name.as_str(), "age" | "retry-after" | "vary") {
        true => Err(error("names a header field that the gate sets itself")),
        false => Ok(name),
    }
}
