//! An open database, and how long anybody waits for it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use sqlx::Pool;
use sqlx::pool::PoolConnection;
use tokio::time::{Instant, timeout};

use super::dialect::Meaning;
use super::{Dialect, Transaction, accounts};

/// How long a call waits for the database: for the connection and for the locks, before its effect
/// and after a refusal, all together (L5).
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Connections of a pool of the ledger's own. A call has one connection at a time and gives it back
/// before it waits for another, so calls cannot keep each other from ever going on.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) const POOL: u32 = 16;

/// What is left of [`LOCK_WAIT`] for one call.
#[derive(Debug)]
pub(crate) struct Patience(pub(crate) Duration);

impl Default for Patience {
    fn default() -> Self {
        Self(LOCK_WAIT)
    }
}

impl Patience {
    /// Waits for something no longer than there is patience. `None`: there is none left.
    pub(crate) async fn wait<T>(&mut self, what: impl Future<Output = T>) -> Option<T> {
        let since = Instant::now();
        let ended = timeout(self.0, what).await;
        self.0 = self.0.saturating_sub(since.elapsed());
        ended.ok()
    }
}

/// The database could not be had within [`LOCK_WAIT`].
#[derive(Debug)]
pub(crate) struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = LOCK_WAIT.as_secs();
        write!(f, "the database is busy: others held it for {seconds} s")
    }
}

impl Error for Busy {}

/// An open database.
#[derive(Debug)]
pub struct Database<DB: Dialect> {
    writers: Pool<DB>,
    readers: Pool<DB>,
    /// Whether the connections are a service's own, which gets them back as they were.
    lent: bool,
}

impl<DB: Dialect> Clone for Database<DB> {
    fn clone(&self) -> Self {
        Self {
            writers: self.writers.clone(),
            readers: self.readers.clone(),
            lent: self.lent,
        }
    }
}

/// A service that has a pool already lends it. The ledger sets lock timeouts and the isolation level of
/// its transactions itself, and leaves nothing of that on the connection; with SQLite, the pool's
/// `busy_timeout` should be [`LOCK_WAIT`].
impl<DB: Dialect> From<Pool<DB>> for Database<DB> {
    fn from(pool: Pool<DB>) -> Self {
        Self {
            writers: pool.clone(),
            readers: pool,
            lent: true,
        }
    }
}

impl<DB: Dialect> Database<DB> {
    /// Opens `sqlite:<path>` (the file is created if there is none), `mysql://…` or `postgres://…`, and
    /// brings the ledger's table up to date.
    ///
    /// # Errors
    ///
    /// The URL is not of this database, it cannot be opened, or another version has changed the table
    /// ([`OtherBuild`](super::OtherBuild)).
    pub async fn open(url: &str) -> Result<Self, sqlx::Error> {
        let database = Self::connect(url).await?;
        database.migrate().await?;
        Ok(database)
    }

    /// Opens it with the shop's tables up to date, as [`migrate_shop`](Self::migrate_shop) has them.
    #[cfg(feature = "shop")]
    pub(crate) async fn open_shop(url: &str) -> Result<Self, sqlx::Error> {
        let database = Self::connect(url).await?;
        database.migrate_shop().await?;
        Ok(database)
    }

    async fn connect(url: &str) -> Result<Self, sqlx::Error> {
        let [writers, readers] = DB::open(url).await?;
        Ok(Self {
            writers,
            readers,
            lent: false,
        })
    }

    /// Brings the ledger's table up to date, `idempotency_ledger`. What was done is written down in a table of its own,
    /// `idempotency_ledger_migrations`; no other is made. On a server, the connection that it takes is closed afterwards.
    ///
    /// # Errors
    ///
    /// The database cannot be reached, or another version has changed the table ([`OtherBuild`](super::OtherBuild)).
    pub async fn migrate(&self) -> Result<(), sqlx::Error> {
        let migrators = [accounts::ledgers::<DB>()];
        accounts::bring_up_to_date(&self.writers, &migrators).await
    }

    /// The same, with the tables of what stands beside the ledger: `fences` for [`lock::admit`](crate::lock::admit), `outbox`,
    /// `consumed`, `task_locks` and `job_runs` for messages and jobs. What was done is written down in
    /// `idempotency_beside_migrations`. A service that has one of these names for a table of its own makes the others by hand.
    ///
    /// # Errors
    ///
    /// The database cannot be reached, has such a table already, or another version has changed one
    /// ([`OtherBuild`](super::OtherBuild)).
    pub async fn migrate_beside(&self) -> Result<(), sqlx::Error> {
        let migrators = [accounts::ledgers::<DB>(), accounts::besides::<DB>()];
        accounts::bring_up_to_date(&self.writers, &migrators).await
    }

    /// The same, with the shop's tables.
    ///
    /// # Errors
    ///
    /// The database cannot be reached, or another version has changed the tables ([`OtherBuild`](super::OtherBuild)).
    #[cfg(feature = "shop")]
    pub async fn migrate_shop(&self) -> Result<(), sqlx::Error> {
        let migrators = [
            accounts::ledgers::<DB>(),
            accounts::besides::<DB>(),
            accounts::shops::<DB>(),
        ];
        accounts::bring_up_to_date(&self.writers, &migrators).await
    }

    /// Waits for open transactions, then closes all connections.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }

    /// Begins a transaction that writes. An error, [`Busy`] or another, means that there is none: what a
    /// caller would have done in it is certainly not done.
    pub(crate) async fn begin(
        &self,
        patience: &mut Patience,
    ) -> Result<Transaction<DB>, Box<dyn Error + Send + Sync>> {
        let begin = self.writers.begin_with(DB::begin(patience.0));
        // Given up, it leaves nothing open: the connection undoes a BEGIN that nobody waits for.
        match patience.wait(begin).await {
            Some(Ok(transaction)) => Ok(Transaction::new(transaction, self.lent)),
            Some(Err(error)) if !is_busy::<DB>(&error) => Err(error.into()),
            Some(Err(_)) | None => Err(Busy.into()),
        }
    }

    /// A transaction that sees one moment, and keeps nobody from writing.
    ///
    /// # Errors
    ///
    /// The database cannot be reached.
    #[cfg(feature = "shop")]
    pub(crate) async fn snapshot(&self) -> Result<sqlx::Transaction<'static, DB>, sqlx::Error> {
        self.readers.begin_with(DB::snapshot()).await
    }

    /// A connection to read with, outside any transaction.
    ///
    /// # Errors
    ///
    /// The database cannot be reached.
    pub async fn read(&self) -> Result<PoolConnection<DB>, sqlx::Error> {
        self.readers.acquire().await
    }
}

/// Whether a lock or a connection could not be had in time.
pub(crate) fn is_busy<DB: Dialect>(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::PoolTimedOut) || DB::meaning(error) == Meaning::Busy
}
