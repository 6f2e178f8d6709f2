//! What a gate and a shard say to each other about claims, and what the caller hears.

use oncegate_core::claim::{Answer, Item, Maker, Verb};
use oncegate_core::problem::{Code, Problem};
use serde::{Deserialize, Serialize};

/// The answer to an item that was not even looked at, or not decided.
pub(crate) const REFUSED: &str = "refused";

/// To a shard, in the body of its request.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Wanted {
    pub(crate) verb: WantedVerb,
    /// For its quota.
    pub(crate) scope: String,
    pub(crate) maker: Option<Maker>,
    pub(crate) lease_ms: u64,
    pub(crate) items: Vec<WantedItem>,
}

/// See [`Verb`].
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WantedVerb {
    Claim,
    Complete,
    Heartbeat,
    Release,
}

impl From<Verb> for WantedVerb {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Claim => Self::Claim,
            Verb::Complete => Self::Complete,
            Verb::Heartbeat => Self::Heartbeat,
            Verb::Release => Self::Release,
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct WantedItem {
    pub(crate) operation: String,
    pub(crate) sent_ms: Option<u64>,
    pub(crate) owner: String,
    pub(crate) result: Option<String>,
}

/// From a shard.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Heard {
    /// In the order of the items.
    pub(crate) items: Vec<Told>,
    /// How many rows the shard has written since it last said so.
    pub(crate) rows_written: u64,
}

/// What is said of one item.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Told {
    pub(crate) answer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<String>,
    /// For who has acquired it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fence: Option<u64>,
    /// Whose lease it is, the answer says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease_ends_in_ms: Option<u64>,
    /// What it came to, if it is done and somebody has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<String>,
    /// Why it is refused, as in problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_ms: Option<u64>,
}

impl Told {
    pub(crate) fn refused(problem: &Problem) -> Self {
        Self {
            answer: REFUSED.to_owned(),
            code: Some(problem.code.as_str().to_owned()),
            detail: Some(problem.detail.clone().into_owned()),
            retry_after_ms: problem.retry_after_ms,
            ..Self::default()
        }
    }

    pub(crate) fn invalid(reason: &str) -> Self {
        Self::refused(&Problem::new(Code::RequestInvalid).because(reason))
    }

    pub(crate) fn held_by_this_call(lease_ms: u64) -> Self {
        Self {
            answer: Answer::Busy.as_str().to_owned(),
            lease_ends_in_ms: Some(lease_ms),
            ..Self::default()
        }
    }
}

/// What the caller hears.
#[derive(Serialize)]
pub(crate) struct Answered {
    pub(crate) items: Vec<ToldItem>,
}

#[derive(Serialize)]
pub(crate) struct ToldItem {
    key: String,
    #[serde(flatten)]
    pub(crate) told: Told,
}

impl ToldItem {
    pub(crate) fn new(item: &Item, told: Option<Told>) -> Self {
        Self {
            key: item.name.clone(),
            told: told.unwrap_or_default(),
        }
    }
}
