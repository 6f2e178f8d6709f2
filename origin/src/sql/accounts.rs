//! The accounts of what was done to the tables: one for the ledger's, one for what stands beside it, one for the shop's.
//!
//! **Invariant: all accounts are compared before anything is done for one, and nobody does anything in between.** Tables of another
//! build stay as they are, to the last one.

use std::error::Error;
use std::fmt;

use sqlx::migrate::{Migrate, MigrateError, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, Pool, SqlStr};

use super::dialect::migrator;
use super::{Dialect, LOCK_WAIT, Sql, Statements, is_busy};

/// Whether there is a table of this name.
const IS_THERE: Sql = Sql {
    mysql: "SELECT 1 FROM information_schema.tables WHERE table_schema = database() AND table_name = ?",
    postgres: "SELECT 1 WHERE to_regclass(?) IS NOT NULL",
    sqlite: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
};

/// Another build than this one made the tables, which stay as they are. It says what to do.
#[derive(Debug)]
pub struct OtherBuild {
    /// The table that says so.
    account: String,
    /// What is not as this build would have it.
    cause: MigrateError,
}

impl OtherBuild {
    /// Whether that is why a migration failed.
    pub fn of(error: &sqlx::Error) -> Option<&Self> {
        let sqlx::Error::Migrate(cause) = error else {
            return None;
        };
        match &**cause {
            MigrateError::Source(source) => source.downcast_ref(),
            _ => None,
        }
    }
}

/// A version that this build does not have is a later one's or an earlier one's: who knows.
impl fmt::Display for OtherBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { account, cause } = self;
        match cause {
            MigrateError::VersionMissing(_) => write!(
                f,
                "another build made its tables ({account}: {cause}): use the newer build that did, or, if it was an earlier \
                 one, start with an empty database"
            ),
            _ => write!(
                f,
                "an earlier build made its tables, and they cannot be brought up to date ({account}: {cause}): start with an \
                 empty database"
            ),
        }
    }
}

impl Error for OtherBuild {}

pub(super) fn ledgers<DB: Dialect>() -> Migrator {
    migrator(DB::migrations().ledger, "idempotency_ledger_migrations")
}

pub(super) fn besides<DB: Dialect>() -> Migrator {
    migrator(DB::migrations().beside, "idempotency_beside_migrations")
}

#[cfg(feature = "shop")]
pub(super) fn shops<DB: Dialect>() -> Migrator {
    migrator(DB::migrations().shop, "shop_migrations")
}

/// Does what is not yet done. Whoever else wants to, waits.
pub(super) async fn bring_up_to_date<DB: Dialect>(
    pool: &Pool<DB>,
    migrators: &[Migrator],
) -> Result<(), sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let done = match DB::lock_of_tables() {
        Some(lock) => under(lock, connection, migrators).await,
        None => in_a_transaction::<DB>(&mut connection, migrators).await,
    };
    Ok(done.map_err(told::<DB>)?)
}

/// A wait for locks has an end, on SQLite also that for whoever changes tables.
fn told<DB: Dialect>(error: MigrateError) -> MigrateError {
    match error {
        MigrateError::Execute(busy) | MigrateError::ExecuteMigration(busy, _)
            if is_busy::<DB>(&busy) =>
        {
            let why = format!("another program is changing its tables: start again ({busy})");
            MigrateError::Source(why.into())
        }
        other => other,
    }
}

/// The library's own lock is none on MariaDB. This one ends with its session, so the connection does not go back to its pool,
/// however this ends: whoever gives up on it drops it while it waits.
async fn under<DB: Dialect>(
    lock: SqlStr,
    mut connection: PoolConnection<DB>,
    migrators: &[Migrator],
) -> Result<(), MigrateError> {
    connection.close_on_drop();
    let held = DB::fetch(&mut connection, lock, &[]).await?;
    let held = held.first().map(|row| DB::integer(row, "held")).transpose();
    let why = match held?.flatten() {
        Some(1) => None,
        Some(_) => Some(
            "others have been changing its tables for an hour, or what did so still has the lock: see `SHOW PROCESSLIST` and end \
             who has it",
        ),
        None => Some("the server gave no lock; does the URL name a database?"),
    };
    if let Some(why) = why {
        return Err(MigrateError::Source(why.into()));
    }
    let done = compare_and_run::<DB>(&mut connection, migrators).await;
    // What was done is done, whatever the server says to this.
    let _ = connection.close().await;
    done
}

/// The transaction keeps the others away. Where nothing is left to do, it would only wait for whoever writes.
async fn in_a_transaction<DB: Dialect>(
    connection: &mut DB::Connection,
    migrators: &[Migrator],
) -> Result<(), MigrateError> {
    if compare::<DB>(connection, migrators).await? {
        return Ok(());
    }
    let mut alone = connection.begin_with(DB::begin(LOCK_WAIT)).await?;
    compare_and_run::<DB>(&mut alone, migrators).await?;
    Ok(alone.commit().await?)
}

async fn compare_and_run<DB: Dialect>(
    connection: &mut DB::Connection,
    migrators: &[Migrator],
) -> Result<(), MigrateError> {
    compare::<DB>(connection, migrators).await?;
    for migrator in migrators {
        // `run` takes a connection of any lifetime, which a future that is sent cannot show.
        migrator.run_direct(None, connection, false).await?;
    }
    Ok(())
}

/// Compares all accounts, and says whether everything is done.
async fn compare<DB: Dialect>(
    connection: &mut DB::Connection,
    migrators: &[Migrator],
) -> Result<bool, MigrateError> {
    let mut is_done = true;
    for migrator in migrators {
        is_done &= applied::<DB>(connection, migrator).await? == migrator.iter().count();
    }
    Ok(is_done)
}

/// How much the account says was done, if there is one: what this build would have done, or it is an error.
async fn applied<DB: Dialect>(
    connection: &mut DB::Connection,
    migrator: &Migrator,
) -> Result<usize, MigrateError> {
    let account = &*migrator.table_name;
    if connection
        .first(IS_THERE, &[account.into()])
        .await?
        .is_none()
    {
        return Ok(0);
    }
    let all = connection.list_applied_migrations(account).await?;
    for applied in &all {
        let version = applied.version;
        let known = migrator.iter().find(|known| known.version == version);
        let cause = match known {
            None => MigrateError::VersionMissing(version),
            Some(known) if known.checksum != applied.checksum => {
                MigrateError::VersionMismatch(version)
            }
            Some(_) => continue,
        };
        let account = account.to_owned();
        return Err(MigrateError::Source(OtherBuild { account, cause }.into()));
    }
    Ok(all.len())
}
