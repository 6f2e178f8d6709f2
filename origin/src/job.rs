//! Jobs: one run at a time, and every row once.
//!
//! **Invariant: the work of a row is done in the transaction that makes it DONE, by compare-and-set.** That
//! alone makes a second run harmless. The task's lock only keeps two runs from working at the same
//! time; it has an owner, who alone releases it, and a lease, so that a run which died blocks nobody.
//!
//! ```text
//! take the lock ─ held ──────────────────────────▶ Busy
//!      └ mine ─ INIT ─▶ SETTLING ─ commit ─ its work and DONE ─ commit ─┐
//!                 ▲        ▲ a run that died here left the row so       │
//!                 └────────┴──────────── next row, lease renewed ◀──────┘
//! ```
//!
//! The rows and their work are a service's own: [`Rows`]. Locks and run records are tables of this library.

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
use crate::sql::job as runs;
use crate::sql::work::atomically;
use crate::sql::{Database, Dialect};

/// The rows of a job.
pub trait Rows<DB: Dialect>: Send + Sync {
    /// A row that is not DONE.
    type Row: Send + Sync;

    /// The name of the job, of its lock and of its runs.
    const TASK: Id<'static>;

    /// Where a row says how far it is.
    const STATUS: StatusColumn;

    /// Some of the rows that are not DONE, those that a run has left SETTLING among them; none if there are none.
    fn open(
        &self,
        reader: &mut DB::Connection,
    ) -> impl Future<Output = Result<Vec<Self::Row>, sqlx::Error>> + Send;

    /// The row's id, as the statements of [`STATUS`](Self::STATUS) take it.
    fn id<'r>(&self, row: &'r Self::Row) -> &'r str;

    /// How far the row was when it was read.
    fn status(&self, row: &Self::Row) -> SettlementStatus;

    /// Does the work of a row, in the transaction that makes it DONE. `run` is the run that does.
    fn work(
        &self,
        connection: &mut DB::Connection,
        row: &Self::Row,
        run: Id<'_>,
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// How a job runs.
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

/// Works off every row that is open.
///
/// # Errors
///
/// The database failed, or the work of a row did. The next run goes on where this one ended.
pub async fn run<DB: Dialect, R: Rows<DB>>(
    database: &Database<DB>,
    rows: &R,
    settings: Settings,
) -> Result<Run, Failure> {
    let run = format!("run_{}", Uuid::now_v7().simple());
    let run = Id::parse(&run).expect("36 letters and digits");
    let began = begin(database, R::TASK, run, settings.lease).await?;
    if !began {
        return Ok(Run::Busy);
    }
    let ended = work_off(database, rows, run, settings).await;
    if ended.is_err() {
        // The next run need not wait for the end of the lease, unless the database cannot be told.
        let _ = let_go(database, R::TASK, run).await;
    }
    ended
}

async fn work_off<DB: Dialect, R: Rows<DB>>(
    database: &Database<DB>,
    rows: &R,
    run: Id<'_>,
    settings: Settings,
) -> Result<Run, Failure> {
    let mut settled = 0;
    loop {
        let open = {
            let mut reader = database.read().await?;
            rows.open(&mut reader).await?
        };
        if open.is_empty() {
            end(database, R::TASK, run, settled).await?;
            return Ok(Run::Settled(settled));
        }
        for row in open {
            if !renew(database, R::TASK, run, settings.lease).await? {
                return Ok(Run::Overtaken);
            }
            settled += u64::from(settle(database, rows, run, &row, settings.pause).await?);
        }
    }
}

/// Whether it was this run that did the work of the row.
async fn settle<DB: Dialect, R: Rows<DB>>(
    database: &Database<DB>,
    rows: &R,
    run: Id<'_>,
    row: &R::Row,
    pause: Duration,
) -> Result<bool, Failure> {
    use SettlementStatus::{Done, Init, Settling};
    let id = rows.id(row);
    if rows.status(row) == Init {
        atomically!(database, |connection| {
            advance(connection, R::STATUS, id, Init, Settling).await?;
            Ok(())
        })?;
    }
    sleep(pause).await;
    let is_done = atomically!(database, |connection| {
        let done = advance(connection, R::STATUS, id, Settling, Done).await?;
        if done == Outcome::Applied {
            rows.work(connection, row, run).await?;
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
    task: Id<'_>,
    run: Id<'_>,
    lease: Duration,
) -> Result<bool, Failure> {
    atomically!(database, |connection| {
        let now = now_ms();
        let mine = lock::take(connection, task, run, now, until(now, lease)).await?;
        if mine {
            runs::begin::<DB>(connection, task, run, now).await?;
        }
        Ok(mine)
    })
}

async fn renew<DB: Dialect>(
    database: &Database<DB>,
    task: Id<'_>,
    run: Id<'_>,
    lease: Duration,
) -> Result<bool, Failure> {
    atomically!(database, |connection| {
        Ok(lock::renew(connection, task, run, until(now_ms(), lease)).await?)
    })
}

async fn end<DB: Dialect>(
    database: &Database<DB>,
    task: Id<'_>,
    run: Id<'_>,
    settled: u64,
) -> Result<(), Failure> {
    atomically!(database, |connection| {
        runs::end::<DB>(connection, run, now_ms(), settled).await?;
        lock::release(connection, task, run).await?;
        Ok(())
    })
}

async fn let_go<DB: Dialect>(
    database: &Database<DB>,
    task: Id<'_>,
    run: Id<'_>,
) -> Result<bool, Failure> {
    atomically!(database, |connection| {
        Ok(lock::release(connection, task, run).await?)
    })
}

fn until(now_ms: u64, lease: Duration) -> u64 {
    now_ms.saturating_add(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}
