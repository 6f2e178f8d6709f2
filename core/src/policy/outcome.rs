//! What a route says about the answers of its origin (rules A2, A3): the lists and the outcome rule,
//! checked. A value or status that says two things says nothing, so each may be listed once.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::config::RouteConfig;
use super::error::Fault;
use super::names::header_name;
use crate::body::pointer::Pointer;
use crate::outcome::Outcome;
use crate::proof::{LONGEST_VALUE, Origin, OutcomeRule, Place, Rules};

/// An outcome rule, as written in the configuration:
/// `{ json = "/code", executed = [0], refused = [7], else = "unknown" }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct OutcomeConfig {
    /// A JSON pointer to the value in the body.
    pub json: Option<String>,
    /// The header field that is the value.
    pub header: Option<String>,
    /// Values that say *executed*.
    #[serde(default)]
    pub executed: Vec<Value>,
    /// Values that say *refused*.
    #[serde(default)]
    pub refused: Vec<Value>,
    /// Values that say *not executed*.
    #[serde(default)]
    pub not_executed: Vec<Value>,
    /// What every other value says; `unknown`.
    #[serde(default, rename = "else")]
    pub otherwise: Otherwise,
}

/// A value in a rule. A number is compared by its digits.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
#[expect(clippy::exhaustive_enums, reason = "what TOML has for it")]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Number(i64),
    /// A text.
    Text(String),
}

/// What a value says that is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Otherwise {
    /// It was executed.
    Executed,
    /// Nothing happened and nothing will.
    NotExecuted,
    /// The origin said no for good.
    Refused,
    /// Nothing.
    #[default]
    Unknown,
}

pub(super) fn rules(config: &RouteConfig) -> Result<Rules, Fault> {
    let lists = [
        ("not_executed", &config.not_executed),
        ("refused", &config.refused),
        ("unknown", &config.unknown),
    ];
    for (field, list) in lists {
        check_statuses(field, list)?;
        if config.origin == Origin::Ledger && !list.is_empty() {
            return Err(Fault::new(field, LEDGER));
        }
    }
    disjoint("unknown", &lists.map(|(_, list)| list.as_slice()))?;
    let outcome = match config.outcome.clone() {
        Some(_) if config.origin == Origin::Ledger => return Err(Fault::new("outcome", LEDGER)),
        Some(rule) => Some(outcome_rule(rule, config.stream)?),
        None => None,
    };
    Ok(Rules {
        not_executed: config.not_executed.clone(),
        refused: config.refused.clone(),
        unknown: config.unknown.clone(),
        outcome,
    })
}

const LEDGER: &str =
    "has no effect with origin = \"ledger\": only Idempotency-Outcome counts there";

fn outcome_rule(rule: OutcomeConfig, streams: bool) -> Result<OutcomeRule, Fault> {
    let error = |reason: &str| Fault::new("outcome", reason);
    let place = match (rule.json, rule.header) {
        (Some(_), None) if streams => {
            return Err(error("reads the body, which stream passes on unread"));
        }
        (Some(pointer), None) => {
            Place::Json(Pointer::parse(&pointer).map_err(|reason| error(&reason.to_string()))?)
        }
        (None, Some(name)) => Place::Header(header_name(&name).map_err(error)?),
        _ => return Err(error("needs json or header, and only one of them")),
    };
    let lists = [rule.executed, rule.refused, rule.not_executed].map(texts);
    if lists.iter().all(Vec::is_empty) {
        return Err(error("lists no value"));
    }
    let is_bad = |value: &String| value.is_empty() || value.chars().count() > LONGEST_VALUE;
    if lists.iter().flatten().any(is_bad) {
        return Err(error(&format!(
            "values have 1 to {LONGEST_VALUE} characters"
        )));
    }
    disjoint("outcome", &lists.each_ref().map(Vec::as_slice))?;
    let [executed, refused, not_executed] = lists;
    Ok(OutcomeRule {
        place,
        executed,
        refused,
        not_executed,
        otherwise: match rule.otherwise {
            Otherwise::Executed => Outcome::Executed,
            Otherwise::NotExecuted => Outcome::NotExecuted,
            Otherwise::Refused => Outcome::Refused,
            Otherwise::Unknown => Outcome::Unknown,
        },
    })
}

fn texts(values: Vec<Value>) -> Vec<String> {
    let text = |value| match value {
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::Text(value) => value,
    };
    values.into_iter().map(text).collect()
}

/// Statuses above 599 are never proof, and those under 200 are no answers.
pub(super) fn check_statuses(field: &'static str, list: &[u16]) -> Result<(), Fault> {
    match list.iter().find(|status| !(200..600).contains(*status)) {
        Some(status) => {
            let reason = format!("lists {status}, which is no final status (200 to 599)");
            Err(Fault::new(field, reason))
        }
        None => Ok(()),
    }
}

/// Checks that nothing is listed twice.
pub(super) fn disjoint<T: PartialEq + ToString, const N: usize>(
    field: &'static str,
    lists: &[&[T]; N],
) -> Result<(), Fault> {
    let all: Vec<&T> = lists.iter().flat_map(|list| list.iter()).collect();
    let twice = all
        .iter()
        .enumerate()
        .find(|(index, value)| all[..*index].contains(value));
    match twice {
        Some((_, value)) => {
            let reason = format!(
                "lists {} twice; it can say only one thing",
                value.to_string()
            );
            Err(Fault::new(field, reason))
        }
        None => Ok(()),
    }
}
