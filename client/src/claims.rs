//! Claims: a message or a job is worked on by one, and done once (docs/claims.md).
//!
//! Invariant: a call whose answer was lost is made again with the nonce that it had, so that it is not locked
//! out by itself; and an item that the gate did not decide is never taken for one that it did.

use std::fmt;
use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use crate::call::Call;
use crate::client::Client;
use crate::error::{Error, Problem};

const PATIENCE: Duration = Duration::from_secs(10);

/// How often a call is made whose answer does not come.
const TRIES: u32 = 3;

/// The claims of one scope: a queue, and who consumes it.
#[derive(Clone, Debug)]
pub struct Claims {
    gate: Client,
    scope: String,
    lease: Duration,
}

/// A message that is to be claimed.
#[derive(Clone, Debug, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the contract's list")]
pub struct Message {
    /// Its id, the same in every copy.
    pub key: String,
    /// When it was sent, in milliseconds since 1970; `None` if nobody knows.
    #[serde(rename = "sent_at", skip_serializing_if = "Option::is_none")]
    pub sent_ms: Option<u64>,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claimed {
    /// It is the caller's: work on it, then complete it.
    Acquired(Claim),
    /// Somebody else works on it, for this long if nothing more is heard of them. Leave it with the broker.
    Busy(Duration),
    /// It is done, and this is what it came to. Acknowledge it.
    Done(Option<String>),
    /// Older than the gate remembers: nobody can tell whether it was done.
    TooOld,
}

/// A claim that is held.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The message.
    pub key: String,
    /// Rises with every claim of the key: write it with the effect, and refuse what is lower.
    pub fence: u64,
    owner: String,
}

/// What became of a word of the holder's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heard {
    /// It is done.
    Done,
    /// It is held, with a lease that begins anew.
    Held,
    /// Somebody has taken over: undo what can be undone, and do not acknowledge.
    Lost,
    /// Nobody holds it.
    Released,
}

#[derive(Serialize)]
struct Asked<'a, T> {
    scope: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u64>,
    items: &'a [T],
}

#[derive(Serialize)]
struct Said<'a> {
    key: &'a str,
    owner: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
}

#[derive(Deserialize)]
struct Answers {
    items: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    key: String,
    answer: String,
    owner: Option<String>,
    fence: Option<u64>,
    lease_ends_in_ms: Option<u64>,
    result: Option<String>,
    code: Option<String>,
    detail: Option<String>,
    retry_after_ms: Option<u64>,
}

/// Who owns it is not printed: whoever knows can speak for it.
impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claim({}, fence {})", self.key, self.fence)
    }
}

impl Client {
    /// The claims of `scope`, each held for `lease` unless it is completed, released or kept for longer.
    pub fn claims(&self, scope: impl Into<String>, lease: Duration) -> Claims {
        Claims {
            gate: self.clone(),
            scope: scope.into(),
            lease,
        }
    }
}

impl Claims {
    /// Claims one message.
    ///
    /// # Errors
    /// [`Error::NoAnswer`]: it may be claimed, by a call that nobody can speak for until its lease is over.
    /// [`Error::Refused`]: the gate did not decide, and says why.
    pub async fn claim(&self, message: Message) -> Result<Claimed, Error> {
        let mut claimed = self.claim_all(std::slice::from_ref(&message)).await?;
        claimed.pop().unwrap_or_else(|| Err(unsaid()))
    }

    /// Claims up to a hundred messages; each has an answer of its own, in their order.
    ///
    /// # Errors
    /// As [`claim`](Self::claim), for all of them.
    pub async fn claim_all(
        &self,
        messages: &[Message],
    ) -> Result<Vec<Result<Claimed, Error>>, Error> {
        let nonce = uuid::Uuid::new_v4().to_string();
        let asked = Asked {
            scope: &self.scope,
            nonce: Some(&nonce),
            lease_ms: Some(self.lease_ms()),
            items: messages,
        };
        let answers = self.ask(&["claims"], &asked, "claiming messages").await?;
        Ok(answers.into_iter().map(Answer::claimed).collect())
    }

    /// Says that it is done, and what it came to, in at most 16 KB.
    ///
    /// # Errors
    /// [`Error::NoAnswer`]: it is not known whether this was heard; say it again.
    pub async fn complete(&self, claim: &Claim, result: Option<&str>) -> Result<Heard, Error> {
        self.say("complete", claim, result, None).await
    }

    /// Begins the lease anew: at a third of it, as long as the work takes.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    pub async fn heartbeat(&self, claim: &Claim) -> Result<Heard, Error> {
        let lease_ms = Some(self.lease_ms());
        self.say("heartbeat", claim, None, lease_ms).await
    }

    /// Begins the lease anew, three times in it, and returns when the claim is the caller's no more. Stands beside the work in a
    /// `select!`. A heartbeat that is not answered by then is made good by the next one.
    pub async fn keep(&self, claim: &Claim) {
        let third = (self.lease / 3).max(Duration::from_millis(1));
        let mut beats = beats(third);
        loop {
            beats.tick().await;
            let heard = timeout(third, self.heartbeat(claim)).await;
            if let Ok(Ok(Heard::Done | Heard::Lost | Heard::Released)) = heard {
                return;
            }
        }
    }

    /// Gives it up, so that the next one need not wait.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    pub async fn release(&self, claim: &Claim) -> Result<Heard, Error> {
        self.say("release", claim, None, None).await
    }

    async fn say(
        &self,
        verb: &str,
        claim: &Claim,
        result: Option<&str>,
        lease_ms: Option<u64>,
    ) -> Result<Heard, Error> {
        let item = Said {
            key: &claim.key,
            owner: &claim.owner,
            result,
        };
        let asked = Asked {
            scope: &self.scope,
            nonce: None,
            lease_ms,
            items: &[item],
        };
        let mut answers = self
            .ask(&["claims", verb], &asked, "speaking for a claim")
            .await?;
        answers.pop().ok_or_else(unsaid)?.heard()
    }

    /// Asks until there is an answer, each time the same.
    async fn ask<T: Serialize>(
        &self,
        segments: &[&str],
        asked: &Asked<'_, T>,
        doing: &str,
    ) -> Result<Vec<Answer>, Error> {
        let mut tries = 1;
        loop {
            let call = Call::new(&self.gate, Method::POST, segments, doing.to_owned());
            let said = call.json(asked).send(PATIENCE).await;
            match said.and_then(|answer| answer.read::<Answers>()) {
                Ok(answers) if answers.items.len() == asked.items.len() => return Ok(answers.items),
                Ok(_) => return Err(unsaid()),
                Err(Error::NoAnswer { .. }) if tries < TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn lease_ms(&self) -> u64 {
        u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Answer {
    fn claimed(self) -> Result<Claimed, Error> {
        match (self.answer.as_str(), self.owner, self.fence) {
            ("acquired", Some(owner), Some(fence)) => Ok(Claimed::Acquired(Claim {
                key: self.key,
                fence,
                owner,
            })),
            ("busy", ..) => {
                let left_ms = self.lease_ends_in_ms.unwrap_or_default();
                Ok(Claimed::Busy(Duration::from_millis(left_ms)))
            }
            ("done", ..) => Ok(Claimed::Done(self.result)),
            ("too_old", ..) => Ok(Claimed::TooOld),
            _ => Err(refused(self.code, self.detail, self.retry_after_ms)),
        }
    }

    fn heard(self) -> Result<Heard, Error> {
        match self.answer.as_str() {
            "done" => Ok(Heard::Done),
            "held" => Ok(Heard::Held),
            "lost" => Ok(Heard::Lost),
            "released" => Ok(Heard::Released),
            _ => Err(refused(self.code, self.detail, self.retry_after_ms)),
        }
    }
}

/// What was not decided, or in a word that this client does not know.
fn refused(code: Option<String>, detail: Option<String>, retry_after_ms: Option<u64>) -> Error {
    let Some(code) = code else {
        return unsaid();
    };
    Error::Refused {
        doing: "claiming or speaking for a message".to_owned(),
        problem: Problem {
            // The item's: the call itself was answered.
            status: 200,
            retryable: code != "request_invalid",
            code,
            detail: detail.unwrap_or_default(),
            retry_after_ms,
        },
    }
}

/// The claim was just granted, so the first one is due after a third. After a standstill one will do.
fn beats(third: Duration) -> Interval {
    let mut beats = interval_at(Instant::now() + third, third);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats
}

fn unsaid() -> Error {
    Error::NoAnswer {
        doing: "claiming or speaking for a message".to_owned(),
        reason: "what came is not what this gate says of claims".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All others would be made up for at once. A tick says when it was due.
    #[tokio::test]
    async fn after_a_standstill_of_five_thirds_one_heartbeat_is_due() {
        let third = Duration::from_millis(20);
        let begun = Instant::now();
        let mut beats = beats(third);
        std::thread::sleep(third * 5);
        let after = Instant::now();
        let first = beats.tick().await;
        assert!(first >= begun + third && first < after, "at once");
        assert!(beats.tick().await >= after + third, "a third later");
    }
}
