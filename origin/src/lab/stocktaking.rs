//! A shelf that two count at once: what each of them finds missing, it takes out of the book.
//!
//! **Invariant: in each run two pieces are missing, and no more.** A delivery is booked that brings nothing; whoever counts
//! finds missing what nobody has taken out yet. So a run after which more is taken out has a book that is wrong.
//!
//! Each of the two is a thread with a runtime of its own, so that one can stop altogether, and with it the renewal of
//! its lock, as in a pause of a garbage collector.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use oncegate_client::LockGuard;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Barrier;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::Door;
use crate::commands::Trouble;
use crate::id::Id;
use crate::ledger::Failure;
use crate::lock;
use crate::sql::work::atomically;
use crate::sql::{self, Database, Dialect};
use crate::sums::{Changed, move_stock};

/// There are many of them.
const ARTICLE: Id<'static> = Id::literal("beans");
/// How many pieces the book has too many.
pub(crate) const MISSING: i32 = 2;

const LONG: Duration = Duration::from_secs(30);
/// The shortest that the gate gives.
const SHORT: Duration = Duration::from_secs(1);

/// How long the other one is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
const WORK: Duration = Duration::from_millis(800);

/// What stands between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Guard {
    /// A lock that lasts, and its fence.
    Lock,
    Nothing,
    /// A lock that is over before the work is, and nobody asks for its fence.
    ShortLock,
    /// The same, and the database asks.
    ShortLockWithFence,
}

/// What one of them did.
#[derive(Debug, Serialize)]
pub(crate) struct Taken {
    is_first: bool,
    fence: Option<u64>,
    counted: i32,
    did: Did,
}

/// What became of a correction.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Did {
    Corrected,
    Nothing,
    Refused,
}

/// What the two share.
struct Shelf<DB: Dialect> {
    database: Database<DB>,
    /// Where the database's connections live.
    shop: Handle,
    door: Door,
    run: String,
    guard: Guard,
    has_begun: AtomicBool,
    both_counted: Barrier,
    pause: Pause,
}

/// What somebody writes.
struct Correction {
    id: String,
    quantity: i32,
    guarded: String,
    fence: Option<u64>,
}

/// One stands still until the other one has written.
#[derive(Default)]
struct Pause {
    is_over: Mutex<bool>,
    over: Condvar,
}

/// Lets two take stock; the one who began first comes first.
pub(crate) async fn take_stock<DB: Dialect>(
    database: &Database<DB>,
    door: &Door,
    run: &str,
    guard: Guard,
) -> Result<Vec<Taken>, Trouble> {
    book_an_empty_delivery(database, run).await?;
    let shelf = Arc::new(Shelf {
        database: database.clone(),
        shop: Handle::current(),
        door: door.clone(),
        run: run.to_owned(),
        guard,
        has_begun: AtomicBool::new(false),
        both_counted: Barrier::new(2),
        pause: Pause::default(),
    });
    let takers = [0, 1].map(|_| {
        let shelf = shelf.clone();
        spawn_blocking(move || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(shelf.take())
        })
    });
    let mut taken = Vec::new();
    for taker in takers {
        taken.push(taker.await??);
    }
    taken.sort_by_key(|taken| !taken.is_first);
    Ok(taken)
}

async fn book_an_empty_delivery<DB: Dialect>(
    database: &Database<DB>,
    run: &str,
) -> Result<(), Failure> {
    let delivery = format!("delivery-{run}");
    atomically!(database, |connection| {
        let delivery = Id::parse(&delivery).map_err(|error| Failure::Unknown(error.into()))?;
        move_stock::<DB>(connection, delivery, ARTICLE, -MISSING).await?;
        Ok(())
    })
}

impl<DB: Dialect> Shelf<DB> {
    async fn take(self: Arc<Self>) -> Result<Taken, Trouble> {
        let held = self.lock().await?;
        let is_first = !self.has_begun.swap(true, Ordering::SeqCst);
        let counted = self.count().await?;
        match (self.guard, is_first) {
            (Guard::Nothing, _) => {
                timeout(PATIENCE, self.both_counted.wait()).await?;
            }
            (Guard::ShortLock | Guard::ShortLockWithFence, true) => self.pause.stand_still(),
            _ => sleep(WORK).await,
        }
        let fence = held.as_ref().map(LockGuard::fence);
        let did = self.correct(is_first, counted, fence).await?;
        self.pause.end();
        if let Some(held) = held {
            // Whoever has lost it hears so here, too late for anything.
            let _ = held.release().await;
        }
        Ok(Taken {
            is_first,
            fence,
            counted,
            did,
        })
    }

    /// Named like what it guards, so that fences are compared only where they are of one sequence.
    async fn lock(&self) -> Result<Option<LockGuard>, Trouble> {
        let ttl = match self.guard {
            Guard::Nothing => return Ok(None),
            Guard::Lock => LONG,
            Guard::ShortLock | Guard::ShortLockWithFence => SHORT,
        };
        let gate = self.door.client()?;
        let locking = gate.lock(&self.name()).ttl(ttl).wait(PATIENCE);
        Ok(Some(locking.acquire().await?))
    }

    fn name(&self) -> String {
        format!("shelf-{}", self.run)
    }

    async fn count(self: &Arc<Self>) -> Result<i32, Trouble> {
        let shelf = self.clone();
        let corrections = self.shop.spawn(async move {
            let found = sql::lab::corrections(&shelf.database, &shelf.run).await?;
            Ok::<_, sqlx::Error>(found.iter().map(|correction| correction.quantity).sum())
        });
        let corrected: i64 = corrections.await??;
        Ok(MISSING - i32::try_from(corrected)?)
    }

    async fn correct(
        &self,
        is_first: bool,
        counted: i32,
        fence: Option<u64>,
    ) -> Result<Did, Trouble> {
        if counted == 0 {
            return Ok(Did::Nothing);
        }
        let who = if is_first { "first" } else { "second" };
        let correction = Correction {
            id: format!("correction-{}-{who}", self.run),
            quantity: counted,
            guarded: self.name(),
            fence: fence.filter(|_| self.guard != Guard::ShortLock),
        };
        let database = self.database.clone();
        let written = self
            .shop
            .spawn(async move { write(&database, &correction).await });
        Ok(written.await??)
    }
}

/// The fence and the correction, in one transaction.
async fn write<DB: Dialect>(
    database: &Database<DB>,
    correction: &Correction,
) -> Result<Did, Failure> {
    atomically!(database, |connection| {
        write_within::<DB>(connection, correction).await
    })
}

async fn write_within<DB: Dialect>(
    connection: &mut DB::Connection,
    correction: &Correction,
) -> Result<Did, Failure> {
    let id = |name| Id::parse(name).map_err(|error| Failure::Unknown(error.into()));
    let guarded = id(&correction.guarded)?;
    if let Some(fence) = correction.fence
        && !lock::admit(connection, guarded, fence).await?
    {
        return Ok(Did::Refused);
    }
    let operation = id(&correction.id)?;
    let moved = move_stock::<DB>(connection, operation, ARTICLE, correction.quantity).await?;
    let why = match moved {
        Changed::Now => return Ok(Did::Corrected),
        Changed::Before => "was made by an earlier run of this name",
        Changed::TooLittle => "takes more than there is in the book",
    };
    let why = format!("the correction {} {why}", correction.id);
    Err(Failure::NotExecuted(why.into()))
}

impl Pause {
    /// Blocks the thread, and all that runs on it.
    fn stand_still(&self) {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.over
                .wait_timeout_while(is_over, PATIENCE, |is_over| !*is_over),
        );
    }

    fn end(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.notify_all();
    }
}
