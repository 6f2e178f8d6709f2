//! What a call about claims says: up to a hundred items of one scope.
//!
//! Invariant: a call that can be read is whole. What is wrong with one item (a key that is none, a result
//! that is too long) is said of that item, and keeps none of the others; so is an item that is there twice.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;

use super::{MARGIN_MS, Maker, maker};
use crate::key::Key;

/// How many items a call may have.
pub const MOST_ITEMS: usize = 100;

/// The longest result of one item, in bytes.
pub const LONGEST_RESULT: usize = 16 * 1024;

/// Shorter leases end while their claim is still on its way back.
pub const SHORTEST_LEASE_MS: u64 = 1_000;

/// Whoever needs longer sends heartbeats.
pub const LONGEST_LEASE_MS: u64 = 60 * 60 * 1_000;

const USUAL_LEASE_MS: u64 = 30_000;

const LONGEST_SCOPE: usize = 64;

/// A nonce is drawn, not thought up.
const SHORTEST_NONCE: usize = 16;
const LONGEST_NONCE: usize = 64;

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Verb {
    /// To claim.
    Claim,
    /// To say that it is done.
    Complete,
    /// To begin the lease anew.
    Heartbeat,
    /// To give it up.
    Release,
}

impl Verb {
    /// As it ends the path of the endpoint.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Complete => "complete",
            Self::Heartbeat => "heartbeat",
            Self::Release => "release",
        }
    }
}

/// A call as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    scope: String,
    nonce: Option<String>,
    lease_ms: Option<u64>,
    items: Vec<AskedItem>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedItem {
    key: String,
    sent_at: Option<u64>,
    owner: Option<String>,
    result: Option<String>,
}

/// A call that can be heard.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one call")]
pub struct Call {
    /// Whose the keys are: a queue and who consumes it, or whatever tells them apart.
    pub scope: String,
    /// Who claims. Other verbs have none.
    pub maker: Option<Maker>,
    /// For a claim or a heartbeat.
    pub lease_ms: u64,
    /// In the order in which they are answered.
    pub items: Vec<Item>,
}

/// One message or job.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one call")]
pub struct Item {
    /// As it was written: the answer names it so.
    pub name: String,
    /// Its key, or why it is turned away.
    pub key: Result<Key, String>,
    /// An earlier item of the call has the same key.
    pub is_again: bool,
    /// For a claim: when the message was sent, by the sender's clock.
    pub sent_ms: Option<u64>,
    /// Who speaks for it; empty for a claim.
    pub owner: String,
    /// What it came to, if it is done.
    pub result: Option<String>,
}

/// A call that says nothing that can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError(String);

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Call {
    /// Reads what was written, as a call of this kind.
    ///
    /// # Errors
    ///
    /// [`CallError`] is a sentence that says what is wrong, and where.
    pub fn read(asked: Asked, verb: Verb, now_ms: u64) -> Result<Self, CallError> {
        let claims = verb == Verb::Claim;
        let count = asked.items.len();
        if count == 0 || count > MOST_ITEMS {
            return wrong(format!(
                "items: there are {count}, and must be 1 to {MOST_ITEMS}"
            ));
        }
        let mut items: Vec<Item> = Vec::with_capacity(count);
        for (index, asked) in asked.items.into_iter().enumerate() {
            let mut item = item(asked, verb, now_ms)
                .map_err(|CallError(reason)| CallError(format!("items[{index}].{reason}")))?;
            item.is_again = items.iter().any(|other| other.key == item.key);
            items.push(item);
        }
        Ok(Self {
            scope: checked_scope(asked.scope)?,
            maker: nonce(asked.nonce, claims)?,
            lease_ms: lease(asked.lease_ms, claims || verb == Verb::Heartbeat)?,
            items,
        })
    }
}

/// A scope, if it is one.
///
/// # Errors
///
/// [`CallError`] says what one is.
pub fn checked_scope(scope: String) -> Result<String, CallError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
    if scope.is_empty() || scope.len() > LONGEST_SCOPE || !scope.bytes().all(fits) {
        let most = LONGEST_SCOPE;
        return wrong(format!(
            "scope: must be 1 to {most} letters, digits and -_.:/"
        ));
    }
    Ok(scope)
}

fn nonce(nonce: Option<String>, claims: bool) -> Result<Option<Maker>, CallError> {
    match nonce {
        None if claims => wrong(
            "nonce: is missing; draw one for each call, and send the same again if its answer is lost",
        ),
        Some(_) if !claims => wrong("nonce: only a claim has one"),
        Some(nonce) if !is_nonce(&nonce) => wrong(format!(
            "nonce: must be {SHORTEST_NONCE} to {LONGEST_NONCE} printable ASCII characters, drawn at random"
        )),
        nonce => Ok(nonce.as_deref().map(maker)),
    }
}

fn is_nonce(nonce: &str) -> bool {
    let fits = (SHORTEST_NONCE..=LONGEST_NONCE).contains(&nonce.len());
    fits && nonce.bytes().all(|byte| byte.is_ascii_graphic())
}

fn lease(lease_ms: Option<u64>, has_lease: bool) -> Result<u64, CallError> {
    match lease_ms {
        Some(_) if !has_lease => wrong("lease_ms: only a claim or a heartbeat has one"),
        Some(lease_ms) if !(SHORTEST_LEASE_MS..=LONGEST_LEASE_MS).contains(&lease_ms) => {
            wrong(format!(
                "lease_ms: is {lease_ms}, and must be {SHORTEST_LEASE_MS} to {LONGEST_LEASE_MS}"
            ))
        }
        lease_ms => Ok(lease_ms.unwrap_or(USUAL_LEASE_MS)),
    }
}

fn item(asked: AskedItem, verb: Verb, now_ms: u64) -> Result<Item, CallError> {
    let claims = verb == Verb::Claim;
    match (&asked.owner, &asked.sent_at, &asked.result) {
        (Some(_), ..) if claims => return wrong("owner: a claim has none yet"),
        (None, ..) if !claims => return wrong("owner: is missing; the claim's answer has it"),
        (_, Some(_), _) if !claims => return wrong("sent_at: only a claim has one"),
        (.., Some(_)) if verb != Verb::Complete => {
            return wrong("result: only what is completed has one");
        }
        _ => {}
    }
    let mut key = Key::from_value(&asked.key).map_err(|error| format!("key: {error}"));
    if let Some(result) = &asked.result
        && result.len() > LONGEST_RESULT
    {
        let most = LONGEST_RESULT;
        key = Err(format!(
            "result: has {} bytes, and at most {most} are kept",
            result.len()
        ));
    }
    if asked
        .sent_at
        .is_some_and(|sent_ms| sent_ms > now_ms.saturating_add(MARGIN_MS))
    {
        key = Err("sent_at: is more than a day ahead of the gate's clock".to_owned());
    }
    Ok(Item {
        name: asked.key,
        key,
        is_again: false,
        sent_ms: asked.sent_at,
        owner: asked.owner.unwrap_or_default(),
        result: asked.result,
    })
}

fn wrong<T>(reason: impl ToString) -> Result<T, CallError> {
    Err(CallError(reason.to_string()))
}
