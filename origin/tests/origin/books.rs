//! A database of the test's own, and a look at it from outside: in a file, or on the server that
//! `ONCEGATE_TEST_DATABASE` names. What a test makes on a server stays there: it is a server for tests.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oncegate_origin::sql::{Dialect, Statements};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, MySql, Postgres, Sqlite, SqliteConnection, raw_sql,
};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::shop::until;

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    MySql,
    Postgres,
    Sqlite,
}

/// The server, from the environment.
fn server() -> Option<String> {
    std::env::var("ONCEGATE_TEST_DATABASE").ok()
}

impl Kind {
    pub(crate) fn of_environment() -> Self {
        match server().as_deref().map(|url| url.split(':').next()) {
            None => Self::Sqlite,
            Some(Some("mysql")) => Self::MySql,
            Some(Some("postgres")) => Self::Postgres,
            _ => panic!("ONCEGATE_TEST_DATABASE is neither mysql://… nor postgres://…"),
        }
    }
}

/// Runs an expression in which `$DB` is the database of the books.
macro_rules! with_database {
    ($kind:expr, $DB:ident => $run:expr) => {
        match $kind {
            crate::books::Kind::MySql => {
                type $DB = sqlx::MySql;
                $run
            }
            crate::books::Kind::Postgres => {
                type $DB = sqlx::Postgres;
                $run
            }
            crate::books::Kind::Sqlite => {
                type $DB = sqlx::Sqlite;
                $run
            }
        }
    };
}

pub(crate) use with_database;

/// A database.
pub(crate) struct Books {
    kind: Kind,
    url: String,
    _folder: Option<TempDir>,
}

impl Books {
    /// On the database of the environment.
    pub(crate) async fn new() -> Self {
        match server() {
            Some(server) => Self::on(&server).await,
            None => Self::in_a_file(),
        }
    }

    /// On this server, which is of the kind of the environment.
    pub(crate) async fn on(server: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let kind = Kind::of_environment();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", process::id());
        let create = format!("CREATE DATABASE {name}");
        with_database!(kind, DB => raw::<DB>(server, create).await);
        let (place, _) = server.rsplit_once('/').expect("a database in the URL");
        Self {
            kind,
            url: format!("{place}/{name}"),
            _folder: None,
        }
    }

    /// SQLite, whatever the environment says.
    pub(crate) fn in_a_file() -> Self {
        let folder = TempDir::new().expect("a temporary directory");
        Self {
            kind: Kind::Sqlite,
            url: format!("sqlite:{}", folder.path().join("shop.sqlite").display()),
            _folder: Some(folder),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Another process that holds SQLite's write lock, until the connection commits or closes.
    pub(crate) async fn lock_file(&self) -> SqliteConnection {
        let mut lock = SqliteConnection::connect(&self.url).await.unwrap();
        lock.run("BEGIN IMMEDIATE", &[]).await.unwrap();
        lock
    }

    /// Until somebody has written in a transaction that is open.
    pub(crate) async fn until_locked(&self) {
        match self.kind {
            Kind::Sqlite => self.until_file_is_locked().await,
            Kind::Postgres => {
                let sql = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND backend_xid IS NOT NULL";
                until(async || self.number(sql).await > 0).await;
            }
            Kind::MySql => {
                let sql = "SELECT count(*) FROM information_schema.innodb_trx t
                    JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
                    WHERE p.db = database() AND t.trx_rows_modified > 0";
                until(async || {
                    // The server keeps what it shows until nobody has looked for 100 ms.
                    sleep(Duration::from_millis(150)).await;
                    self.number(sql).await > 0
                })
                .await;
            }
        }
    }

    async fn until_file_is_locked(&self) {
        let options: SqliteConnectOptions = self.url.parse().unwrap();
        let options = options.busy_timeout(Duration::ZERO);
        let mut asking = options.connect().await.expect("the shop's file");
        until(async || {
            let got = asking.run("BEGIN IMMEDIATE", &[]).await;
            if got.is_ok() {
                asking.run("ROLLBACK", &[]).await.unwrap();
            }
            got.is_err()
        })
        .await;
    }

    /// Until there are so many orders.
    pub(crate) async fn until_executed(&self, orders: i64) {
        until(async || self.orders().await == orders).await;
        assert_eq!(self.executed().await, orders);
    }

    /// Makes the database count, or sleep, for about a second before it takes an order.
    pub(crate) async fn slow_down_orders(&self) {
        self.slow_down("INSERT ON orders").await;
    }

    /// Makes the database count, or sleep, for about a second before each such act.
    pub(crate) async fn slow_down(&self, act: &str) {
        let sql = match self.kind {
            Kind::MySql => format!("CREATE TRIGGER slow BEFORE {act} FOR EACH ROW DO SLEEP(1)"),
            Kind::Postgres => format!(
                "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_sleep(1); RETURN COALESCE(NEW, OLD); END';
                 CREATE TRIGGER slow BEFORE {act} FOR EACH ROW EXECUTE FUNCTION slow()"
            ),
            Kind::Sqlite => format!(
                "CREATE TRIGGER slow BEFORE {act} BEGIN
                    SELECT count(*) FROM (WITH RECURSIVE counted(n) AS
                        (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT 8000000)
                        SELECT n FROM counted); END"
            ),
        };
        self.run(&sql).await;
    }

    /// Ends that.
    pub(crate) async fn speed_up(&self, table: &str) {
        self.run(&match self.kind {
            Kind::Postgres => format!("DROP TRIGGER slow ON {table}"),
            Kind::MySql | Kind::Sqlite => "DROP TRIGGER slow".to_owned(),
        })
        .await;
    }

    /// Runs statements on a connection of its own, as another process would.
    pub(crate) async fn run(&self, sql: &str) {
        with_database!(self.kind, DB => raw::<DB>(&self.url, sql.to_owned()).await);
    }

    /// One number.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        with_database!(self.kind, DB => number::<DB>(&self.url, sql).await)
    }

    pub(crate) async fn orders(&self) -> i64 {
        self.number("SELECT count(*) FROM orders").await
    }

    /// How many tables there are.
    pub(crate) async fn tables(&self) -> i64 {
        self.number(match self.kind {
            Kind::MySql => {
                "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()"
            }
            Kind::Postgres => "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'",
            Kind::Sqlite => "SELECT count(*) FROM sqlite_master WHERE type = 'table'",
        })
        .await
    }

    /// Every row of the ledger.
    pub(crate) async fn rows(&self) -> i64 {
        self.number("SELECT count(*) FROM idempotency_ledger").await
    }

    pub(crate) async fn stock(&self, sku: &str) -> i64 {
        self.number(&format!("SELECT stock FROM products WHERE sku = '{sku}'"))
            .await
    }

    /// Orders, payments, and executed rows: all the same number, whatever happened.
    pub(crate) async fn executed(&self) -> i64 {
        let orders = self.orders().await;
        let payments = self.number("SELECT count(*) FROM payments").await;
        let rows = "SELECT count(*) FROM idempotency_ledger WHERE state = 'executed'";
        assert_eq!((orders, orders), (payments, self.number(rows).await));
        orders
    }
}

trait Raw: Dialect {
    async fn raw(url: &str, sql: String);
}

macro_rules! raw {
    ($DB:ty) => {
        impl Raw for $DB {
            async fn raw(url: &str, sql: String) {
                let mut connection = <$DB as sqlx::Database>::Connection::connect(url)
                    .await
                    .expect("a database");
                raw_sql(AssertSqlSafe(sql))
                    .execute(&mut connection)
                    .await
                    .expect("statements that run");
            }
        }
    };
}

raw!(MySql);
raw!(Postgres);
raw!(Sqlite);

async fn raw<DB: Raw>(url: &str, sql: String) {
    DB::raw(url, sql).await;
}

async fn number<DB: Dialect>(url: &str, sql: &str) -> i64 {
    // A test's statement is made of its literals, and there are few of them.
    let sql: &'static str = Box::leak(format!("SELECT ({sql}) AS n").into_boxed_str());
    let mut connection = DB::Connection::connect(url).await.expect("a database");
    let row = connection.first(sql, &[]).await.expect("a number");
    let number = row.expect("a row").get("n").expect("a number");
    let _ = connection.close().await;
    number
}
