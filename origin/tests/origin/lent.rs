//! Connections that a service lends: they go back as they came.

use std::future::pending;
use std::time::Duration;

use oncegate_core::key::KeyKind;
use oncegate_origin::ledger::{Effect, Failure, Ledger};
use oncegate_origin::sql::{Database, Dialect, OtherBuild, Sql, Statements};
use sqlx::pool::PoolOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, Pool, Sqlite, SqlitePool};
use tokio::time::timeout;

use crate::books::{Books, Kind};
use crate::fixture::{answer, call, executed, on_database, take};
use crate::shop::until;

/// How long the service's own statements wait for a lock, which is none of the ledger's business.
const SET: Sql = Sql {
    mysql: "SET SESSION innodb_lock_wait_timeout = 77",
    postgres: "SET lock_timeout = 77",
    sqlite: "PRAGMA busy_timeout = 77",
};
const READ: Sql = Sql {
    mysql: "SELECT CAST(@@innodb_lock_wait_timeout AS SIGNED) AS n",
    postgres: "SELECT CAST(setting AS BIGINT) AS n FROM pg_settings WHERE name = 'lock_timeout'",
    sqlite: "SELECT timeout AS n FROM pragma_busy_timeout",
};

async fn lock_wait<DB: Dialect>(pool: &Pool<DB>) -> i64 {
    let mut connection = pool.acquire().await.unwrap();
    let row = connection.first(READ, &[]).await.unwrap();
    row.unwrap().get("n").unwrap()
}

/// Names such as `outbox` are a service's to give.
#[tokio::test]
async fn the_ledger_makes_no_table_but_its_own() {
    let books = Books::in_a_file();
    let url = format!("{}?mode=rwc", books.url());
    let pool = SqlitePool::connect(&url).await.unwrap();
    let own = "CREATE TABLE outbox (mine TEXT)";
    let mut connection = pool.acquire().await.unwrap();
    connection.run(own, &[]).await.unwrap();
    drop(connection);
    Database::from(pool).migrate().await.unwrap();
    let others = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'idempotency_ledger%'";
    assert_eq!(books.number(others).await, 1);
}

/// Whoever comes after a migration that failed does not wait for what its connection holds.
#[tokio::test]
async fn a_migration_that_fails_keeps_nobody_from_the_next() {
    on_database!(|fixture| {
        let url = fixture.books.url();
        let lent = Pool::<DB>::connect(&url).await.unwrap();
        let own = "CREATE TABLE outbox (mine INT)";
        lent.acquire().await.unwrap().run(own, &[]).await.unwrap();
        let failed = Database::from(lent.clone()).migrate_beside().await;
        failed.expect_err("there is such a table");
        let next = timeout(Duration::from_secs(20), Database::<DB>::open(&url));
        next.await.expect("nobody is waited for").unwrap();
        lent.close().await;
    });
}

/// A service gives its start so and so long (`timeout`). Whoever comes then does not wait for what it left in its pool.
#[tokio::test]
async fn a_migration_that_is_given_up_while_it_waits_keeps_nobody_from_the_next() {
    on_database!(|fixture| {
        let waiting = match fixture.books.kind() {
            Kind::MySql => {
                "SELECT count(*) FROM information_schema.processlist
                    WHERE db = database() AND state = 'User lock'"
            }
            Kind::Postgres => {
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            }
            // A transaction, which ends with who waits for it.
            Kind::Sqlite => return,
        };
        let url = fixture.books.url();
        let mut first = DB::Connection::connect(&url).await.unwrap();
        let lock = DB::lock_of_tables().unwrap();
        DB::fetch(&mut first, lock, &[]).await.unwrap();
        let lent = PoolOptions::<DB>::new().max_connections(1);
        let lent = Database::from(lent.connect(&url).await.unwrap());
        let copy = lent.clone();
        let second = tokio::spawn(async move { copy.migrate().await });
        until(async || fixture.books.number(waiting).await > 0).await;
        second.abort();
        assert!(second.await.unwrap_err().is_cancelled());
        first.close().await.unwrap();
        let next = timeout(Duration::from_secs(20), Database::<DB>::open(&url));
        next.await.expect("nobody is waited for").unwrap();
        lent.migrate().await.unwrap();
    });
}

/// A service has no command line that would say it.
#[tokio::test]
async fn a_service_hears_of_tables_of_another_build_with_what_to_do() {
    on_database!(|fixture| {
        let later = "INSERT INTO idempotency_ledger_migrations
                (version, description, success, checksum, execution_time)
             SELECT 99, 'later', success, checksum, 1 FROM idempotency_ledger_migrations";
        fixture.books.run(later).await;
        let pool = Pool::<DB>::connect(&fixture.books.url()).await.unwrap();
        let error = Database::from(pool).migrate().await.unwrap_err();
        let other = OtherBuild::of(&error).expect("it can be told").to_string();
        for part in ["idempotency_ledger_migrations", "use the newer build"] {
            assert!(other.contains(part), "{other}");
        }
        assert!(error.to_string().ends_with(&other), "{error}");
        assert!(OtherBuild::of(&sqlx::Error::PoolClosed).is_none());
    });
}

/// Nothing but MySQL and MariaDB opens a URL that names none.
#[tokio::test]
async fn a_url_without_a_database_is_told() {
    on_database!(|fixture| {
        if fixture.books.kind() != Kind::MySql {
            return;
        }
        let url = fixture.books.url();
        let (server, _) = url.rsplit_once('/').unwrap();
        let error = Database::<DB>::open(server).await.unwrap_err();
        let told = error.to_string();
        assert!(told.contains("does the URL name a database?"), "{told}");
    });
}

/// SQLite knows no lock that is waited for without end.
#[tokio::test]
async fn who_waits_in_vain_for_another_that_changes_tables_is_told_to_start_again() {
    let books = Books::in_a_file();
    let options: SqliteConnectOptions = books.url().parse().unwrap();
    let options = options.create_if_missing(true).busy_timeout(Duration::ZERO);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let other = books.lock_file().await;
    let database = Database::from(pool);
    let told = database.migrate().await.unwrap_err().to_string();
    let advice = "another program is changing its tables: start again";
    assert!(told.contains(advice), "{told}");
    other.close().await.unwrap();
    database.migrate().await.unwrap();
}

/// It would be another one.
#[tokio::test]
async fn a_database_in_memory_is_still_there_after_its_migration() {
    let pool = PoolOptions::<Sqlite>::new().max_connections(1);
    let pool = pool.connect("sqlite::memory:").await.unwrap();
    Database::from(pool.clone()).migrate().await.unwrap();
    let rows = "SELECT count(*) AS n FROM idempotency_ledger";
    let row = pool.acquire().await.unwrap().first(rows, &[]).await;
    assert_eq!(row.unwrap().unwrap().get::<i64>("n").unwrap(), 0);
}

#[tokio::test]
async fn a_connection_that_is_lent_goes_back_as_it_came_however_the_transaction_ends() {
    on_database!(|fixture| {
        let pool = PoolOptions::<DB>::new().max_connections(1);
        let pool = pool.connect(&fixture.books.url()).await.unwrap();
        pool.acquire().await.unwrap().run(SET, &[]).await.unwrap();
        let ledger = Ledger::new(pool.clone());
        let key = |name| call(name, 'a', KeyKind::Client);
        let run = async |name, end: fn() -> Result<Effect, Failure>| {
            let call = key(name);
            let ended = ledger.once(&call, async move |connection: &mut DB::Connection| {
                take::<DB>(connection, end()).await
            });
            let _ = ended.await;
            assert_eq!(lock_wait(&pool).await, 77, "{name}");
        };
        run("executed", || Ok(executed("yes"))).await;
        run("executed", || unreachable!("it is answered from its row")).await;
        run("refused", || Ok(Effect::Refused(answer("no")))).await;
        run("failed", || Err(Failure::NotExecuted("broken".into()))).await;
        let (dropped, copy) = (key("dropped"), ledger.clone());
        let running = tokio::spawn(async move {
            let hang = async |connection: &mut DB::Connection| {
                take::<DB>(connection, Ok(executed("never"))).await?;
                pending().await
            };
            copy.once(&dropped, hang).await
        });
        fixture.books.until_locked().await;
        running.abort();
        assert_eq!(lock_wait(&pool).await, 77, "dropped");
        assert_eq!(fixture.effects().await, 1);
    });
}

/// MySQL cuts a text that does not fit its column, if it is told to. The ledger's transactions tell it otherwise.
#[tokio::test]
async fn in_the_ledgers_transaction_nothing_is_cut_whatever_the_service_has_chosen() {
    on_database!(|fixture| {
        if fixture.books.kind() != Kind::MySql {
            return;
        }
        let table = "CREATE TABLE short (name VARCHAR(4) NOT NULL)";
        fixture.books.run(table).await;
        let pool = PoolOptions::<DB>::new().max_connections(1);
        let pool = pool.connect(&fixture.books.url()).await.unwrap();
        let insert = "INSERT INTO short (name) VALUES ('too long')";
        let mut lax = pool.acquire().await.unwrap();
        lax.run("SET SESSION sql_mode = ''", &[]).await.unwrap();
        lax.run(insert, &[]).await.unwrap();
        drop(lax);
        let ledger = Ledger::new(pool.clone());
        let call = call("k", 'a', KeyKind::Client);
        let ended = ledger.once(&call, async move |connection: &mut DB::Connection| {
            connection.run(insert, &[]).await?;
            Ok(executed("cut"))
        });
        assert!(matches!(ended.await, Err(Failure::NotExecuted(_))));
        let mode = "SELECT CAST(CHAR_LENGTH(@@sql_mode) AS SIGNED) AS n";
        let row = pool.acquire().await.unwrap().first(mode, &[]).await;
        assert_eq!(row.unwrap().unwrap().get::<i64>("n").unwrap(), 0);
    });
}
