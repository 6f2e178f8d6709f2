//! Jobs: one run at a time, and every row once.
//!
//! **Invariant: a row is paid out in the transaction that makes it DONE, by compare-and-set.** That
//! alone makes a second run harmless. The task's lock only keeps two runs from working at the same
//! time; it has an owner, who alone releases it, and a lease, so that a run which died blocks nobody.
//!
//! ```text
//! take the lock ─ held ──────────────────────────▶ Busy
//!      └ mine ─ INIT ─▶ SETTLING ─ commit ─ pay out and DONE ─ commit ─┐
//!                 ▲        ▲ a run that died here left the row so      │
//!                 └────────┴──────────── next row, lease renewed ◀─────┘
//! ```

use std::time::Duration;

use oncegate_core::lifecycle::{Outcome, SettlementStatus};
use tokio::time::sleep;
use uuid::Uuid;

use crate::clock::now_ms;
use crate::id::Id;
use crate::ledger::Failure;
use crate::lifecycle::{StatusColumn, advance};
use crate::lock;
use crate::metrics::{self, Event};
use crate::sql::job::{self as rows, Settlement};
use crate::sql::work::atomically;
use crate::sql::{Database, Dialect, Sql};

/// The name of the settlement's lock and runs.
const TASK: Id<'static> = Id::literal("settle");

const SETTLEMENTS: StatusColumn = StatusColumn {
    name: "settlement",
    compare_and_set: Sql::same(
        "UPDATE settlements SET status = ? WHERE order_id = ? AND status = ?",
    ),
    read: Sql {
        mysql: "SELECT status FROM settlements WHERE order_id = ? FOR UPDATE",
        postgres: "SELECT status FROM settlements WHERE order_id = ? FOR NO KEY UPDATE",
        sqlite: "SELECT status FROM settlements WHERE order_id = ?",
    },
};

/// How a settlement runs.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a setting left out must be a compile error"
)]
pub struct Settings {
    /// How long the lock stays with a run that says nothing. Longer than the slowest row takes.
    pub lease: Duration,
    /// A rest in the middle of each row, between SETTLING and DONE, to spare the database.
    pub pause: Duration,
}

impl Default for Settings {
    /// A minute for the slowest row, and no rest.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            pause: Duration::ZERO,
        }
    }
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an outcome that a caller forgets must be a compile error"
)]
pub enum Run {
    /// Another run holds the lock.
    Busy,
    /// Another run took the lock when the lease was over. What this one settled stays so.
    Overtaken,
    /// Nothing is open any more. This run made so many rows DONE.
    Settled(u64),
}

/// Settles everything that is open.
///
/// # Errors
///
/// The database failed. The next run goes on where this one ended.
pub async fn settle<DB: Dialect>(
    database: &Database<DB>,
    settings: Settings,
) -> Result<Run, Failure> {
    let run = format!("run_{}", Uuid::now_v7().simple());
    let run = Id::parse(&run).expect("36 letters and digits");
    let began = begin(database, run, settings.lease).await?;
    if !began {
        return Ok(Run::Busy);
    }
    let ended = settle_open(database, run, settings).await;
    if ended.is_err() {
        // The next run need not wait for the end of the lease, unless the database cannot be told.
        let _ = let_go(database, run).await;
    }
    ended
}

async fn settle_open<DB: Dialect>(
    database: &Database<DB>,
    run: Id<'_>,
    settings: Settings,
) -> Result<Run, Failure> {
    let mut settled = 0;
    loop {
        let open = {
            let mut reader = database.read().await?;
            rows::open::<DB>(&mut reader).await?
        };
        if open.is_empty() {
            end(database, run, settled).await?;
            return Ok(Run::Settled(settled));
        }
        for row in open {
            if !renew(database, run, settings.lease).await? {
                return Ok(Run::Overtaken);
            }
            settled += u64::from(settle_row(database, run, &row, settings.pause).await?);
        }
    }
}

/// Whether it was this run that paid the row out.
async fn settle_row<DB: Dialect>(
    database: &Database<DB>,
    run: Id<'_>,
    row: &Settlement,
    pause: Duration,
) -> Result<bool, Failure> {
    use SettlementStatus::{Done, Init, Settling};
    if row.status == Init {
        atomically!(database, |connection| {
            let id = &row.order_id;
            let taken = advance::<DB, _>(connection, SETTLEMENTS, id, Init, Settling).await?;
            if taken == Outcome::Applied {
                rows::note_run::<DB>(connection, id, run).await?;
            }
            Ok(())
        })?;
    }
    sleep(pause).await;
    let is_done = atomically!(database, |connection| {
        let id = &row.order_id;
        let done = advance::<DB, _>(connection, SETTLEMENTS, id, Settling, Done).await?;
        if done == Outcome::Applied {
            rows::pay_out::<DB>(connection, row, now_ms()).await?;
        }
        Ok(done == Outcome::Applied)
    })?;
    if is_done {
        metrics::count(Event::Settled);
    }
    Ok(is_done)
}

async fn begin<DB: Dialect>(
    database: &Database<DB>,
    run: Id<'_>,
    lease: Duration,
) -> Result<bool, Failure> {
    atomically!(database, |connection| {
        let now = now_ms();
        let mine = lock::take::<DB>(connection, TASK, run, now, until(now, lease)).await?;
        if mine {
            rows::begin_run::<DB>(connection, TASK, run, now).await?;
        }
        Ok(mine)
    })
}

async fn renew<DB: Dialect>(
    database: &Database<DB>,
    run: Id<'_>,
    lease: Duration,
) -> Result<bool, Failure> {
    atomically!(database, |connection| {
        Ok(lock::renew::<DB>(connection, TASK, run, until(now_ms(), lease)).await?)
    })
}

async fn end<DB: Dialect>(
    database: &Database<DB>,
    run: Id<'_>,
    settled: u64,
) -> Result<(), Failure> {
    atomically!(database, |connection| {
        rows::end_run::<DB>(connection, run, now_ms(), settled).await?;
        lock::release::<DB>(connection, TASK, run).await?;
        Ok(())
    })
}

async fn let_go<DB: Dialect>(database: &Database<DB>, run: Id<'_>) -> Result<bool, Failure> {
    atomically!(database, |connection| {
        Ok(lock::release::<DB>(connection, TASK, run).await?)
    })
}

fn until(now_ms: u64, lease: Duration) -> u64 {
    now_ms.saturating_add(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}
