//! Connections that a service lends: they go back as they came.

use std::future::pending;

use oncegate_core::key::KeyKind;
use oncegate_origin::ledger::{Effect, Failure, Ledger};
use oncegate_origin::sql::{Database, Dialect, Sql, Statements};
use sqlx::Pool;
use sqlx::pool::PoolOptions;

use crate::books::Kind;
use crate::fixture::{answer, call, executed, on_database, take};

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

/// Whatever the server's default is: the ledger's own connections cut nothing.
#[tokio::test]
async fn a_connection_of_the_ledgers_own_is_strict() {
    on_database!(|fixture| {
        if fixture.books.kind() == Kind::MySql {
            let url = fixture.books.url();
            let database = Database::<DB>::open(&url).await.unwrap();
            let sql = "SELECT @@sql_mode LIKE '%STRICT_ALL_TABLES%' AS n";
            let row = database.read().await.unwrap().first(sql, &[]).await;
            assert_eq!(row.unwrap().unwrap().get::<i64>("n").unwrap(), 1);
        }
    });
}
