//! A message that is delivered five times, and five workers.
//!
//! **Invariant: a delivery is over when its message is done, by whomever.** Until then the broker brings it again, so a
//! worker that dies leaves the message to the next one.

use std::time::Duration;

use futures_util::future::try_join_all;
use oncegate_client::{Claim, Claimed, Claims, Heard, Message as Claimable};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;

use super::Door;
use crate::commands::Trouble;
use crate::consumer::Consumed;
use crate::outbox::Message;
use crate::shop::effects::{self, Task};
use crate::sql::{Database, Dialect};

/// The queue, and who consumes it.
pub(crate) const SCOPE: &str = "shop/notices";
const COPIES: usize = 5;

const LEASE: Duration = Duration::from_secs(30);
/// Of a worker that dies: the next one waits for its end.
const SHORT_LEASE: Duration = Duration::from_secs(2);
const WORK: Duration = Duration::from_millis(600);
/// After how long the broker brings again what was not acknowledged.
const AGAIN: Duration = Duration::from_millis(400);

/// How the workers go about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    Claimed,
    /// The first one dies when its work is done, before it has said so.
    DiesAfter,
    /// The first one dies before its work.
    DiesBefore,
    /// Each does what it was brought, and nobody knows of the others.
    Unclaimed,
}

/// What became of a delivery.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Worked {
    /// The gate's words, in their order.
    heard: Vec<&'static str>,
    fence: Option<u64>,
    did: Option<Did>,
}

/// What a worker did about its message.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Did {
    /// It died.
    Died,
    /// Its record said that it was done before.
    Found,
    /// It wrote the notice.
    Wrote,
}

/// One message on its way.
struct Delivery<'a, DB: Dialect> {
    database: &'a Database<DB>,
    claims: Claims,
    run: &'a str,
}

/// The id of the message of a run.
pub(crate) fn message(run: &str) -> String {
    format!("notice-{run}")
}

/// Delivers the message of a run to five workers at once.
pub(crate) async fn deliver<DB: Dialect>(
    database: &Database<DB>,
    door: &Door,
    run: &str,
    how: How,
) -> Result<Vec<Worked>, Trouble> {
    let lease = match how {
        How::DiesAfter | How::DiesBefore => SHORT_LEASE,
        How::Claimed | How::Unclaimed => LEASE,
    };
    let delivery = Delivery {
        database,
        claims: door.client()?.claims(SCOPE, lease),
        run,
    };
    let mut worked = match how {
        How::Unclaimed => return delivery.unclaimed().await,
        How::Claimed => Vec::new(),
        How::DiesAfter | How::DiesBefore => vec![delivery.dying(how).await?],
    };
    let alive = (worked.len()..COPIES).map(|_| delivery.worker());
    worked.extend(try_join_all(alive).await?);
    Ok(worked)
}

impl<DB: Dialect> Delivery<'_, DB> {
    async fn unclaimed(&self) -> Result<Vec<Worked>, Trouble> {
        try_join_all((1..=COPIES).map(async |copy| {
            let did = self.work(&format!("{}-{copy}", message(self.run))).await?;
            Ok(Worked {
                did: Some(did),
                ..Worked::default()
            })
        }))
        .await
    }

    /// Works on the message as soon as it may, and until it is done.
    async fn worker(&self) -> Result<Worked, Trouble> {
        let mut worked = Worked::default();
        loop {
            match self.claim(&mut worked).await? {
                Claimed::Acquired(claim) => {
                    worked.did = Some(self.work(&message(self.run)).await?);
                    match self.claims.complete(&claim, Some("sent")).await? {
                        Heard::Done => return Ok(worked),
                        _ => worked.heard.push("lost"),
                    }
                }
                Claimed::Busy(left) => sleep(left.min(AGAIN)).await,
                _ => return Ok(worked),
            }
        }
    }

    /// Claims the message, and is not heard of again.
    async fn dying(&self, how: How) -> Result<Worked, Trouble> {
        let mut worked = Worked::default();
        let claimed = self.claim(&mut worked).await?;
        if let (Claimed::Acquired(Claim { .. }), How::DiesAfter) = (claimed, how) {
            self.work(&message(self.run)).await?;
        }
        worked.did = Some(Did::Died);
        Ok(worked)
    }

    async fn claim(&self, worked: &mut Worked) -> Result<Claimed, Trouble> {
        let message = Claimable {
            key: message(self.run),
            sent_ms: None,
        };
        let claimed = self.claims.claim(message).await?;
        worked.heard.push(match &claimed {
            Claimed::Acquired(claim) => {
                worked.fence = Some(claim.fence);
                "acquired"
            }
            Claimed::Busy(_) => "busy",
            Claimed::Done(_) => "done",
            _ => "too_old",
        });
        Ok(claimed)
    }

    /// Tells the customer, and takes note of the message in the same transaction.
    async fn work(&self, message: &str) -> Result<Did, Trouble> {
        sleep(WORK).await;
        let payload = json!({ "order": self.run, "status": "SHIPPED" });
        let task = Task::parse(&Message {
            id: message.to_owned(),
            aggregate: String::new(),
            topic: "notice".to_owned(),
            payload: payload.to_string(),
            attempt: 1,
        })?;
        Ok(match effects::receive(self.database, &task).await? {
            Consumed::Now => Did::Wrote,
            Consumed::Before => Did::Found,
        })
    }
}
