//! The origin tier of Oncegate: a ledger that makes an effect happen once per key, and the
//! reference shop that uses it.
//!
//! # Once
//!
//! ```
//! use oncegate_origin::ledger::{Answer, Call, Effect, Ledger, Verdict};
//! # use sqlx::{Sqlite, SqliteConnection, SqlitePool};
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::TempDir::new()?;
//! # let url = format!("sqlite:{}?mode=rwc", folder.path().join("shop.sqlite").display());
//! # let pool = SqlitePool::connect(&url).await?;
//! # sqlx::query("CREATE TABLE payments (order_no TEXT, cents INTEGER)").execute(&pool).await?;
//! # oncegate_origin::sql::Database::from(pool.clone()).migrate().await?;
//! let ledger = Ledger::new(pool); // the service's own
//! let call = Call::of("order-7", b"500 cents")?;
//! # for _ in 0..2 {
//! let verdict = ledger.once(&call, async |transaction: &mut SqliteConnection| {
//!     let pay = sqlx::query("INSERT INTO payments (order_no, cents) VALUES ('order-7', 500)");
//!     pay.execute(&mut *transaction).await?;
//!     Ok(Effect::Executed(Answer::json(201, &"paid")?))
//! });
//! assert_eq!(verdict.await?, Verdict::Executed(Answer::json(201, &"paid")?)); // now and ever after
//! # }
//! # let other = Call::of("order-7", b"900 cents")?;
//! # let never = async |_: &mut SqliteConnection| unreachable!();
//! # assert!(matches!(ledger.once(&other, never).await?, Verdict::OtherFingerprint(_)));
//! # Ok(())
//! # }
//! ```
//!
//! Behind the gate, [`gate`] makes the call, and an axum service needs five lines. Connections and errors are those of sqlx 0.9,
//! routers those of axum 0.8.
//!
//! # The library, and the shop
//!
//! A service that imports the library names its databases and leaves the shop, its broker and its command line out:
//!
//! ```toml
//! oncegate-origin = { path = "…/origin", default-features = false, features = ["postgres"] }
//! ```
//!
//! | feature | brings |
//! | --- | --- |
//! | `mysql`, `postgres`, `sqlite` | the ledger on MySQL and MariaDB, PostgreSQL, SQLite |
//! | `shop`, the default | everything that is not the library, on all three |
//! | `tls` | TLS to the database, for the program; a service's pool brings its own |
//!
//! # Map of the library
//!
//! | module | does |
//! | --- | --- |
//! | [`ledger`] | key, effect and stored answer in one transaction (protocol, section 6) |
//! | [`gate`] | an axum service behind the gate: signature, look-up, outcome, probe and cancel |
//! | [`lifecycle`] | moves of a status by compare-and-set |
//! | [`outbox`] | side effects that are owed, and the relay that delivers them |
//! | [`consumer`] | messages that come more than once |
//! | [`lock`] | named locks with owner and lease, fences, and what locks are not for |
//! | [`job`] | rows that one run at a time works off, and any run goes on with |
//! | [`id`] | names that fit their columns |
//! | [`metrics`] | what has happened, counted; the log is JSON lines on stderr |
//! | [`sql`] | the databases, and statements on any of them |
//!
//! # Map of the shop
//!
//! | module | does |
//! | --- | --- |
//! | `shop` | the effect: orders, payments, stock, settlements |
//! | `sums` | points and stock, once for each operation id |
//! | `dead` | messages that nobody could work off, kept for a person |
//! | `broker` | NATS JetStream between outbox and receiver, and claims of the gate |
//! | `books` | whether stock, charges, points and payouts balance |
//! | `provider` | a stand-in for a payment provider, and what calls it |
//! | `commands` | what the program does besides serving |
//! | `server` | connections, shutdown, and hanging up |
//! | `http` | the routes |
//! | `lab` | what the back room of a demonstration asks the gate for, only with `--faults` |
//! | `faults` | switches that break things on purpose, only with `--faults` |
//!
//! # Out of scope
//!
//! Deciding what a key's row means: that is [`oncegate_core::ledger`], shared with the simulator.

#[cfg(feature = "shop")]
pub mod books;
#[cfg(feature = "shop")]
pub mod broker;
pub mod clock;
#[cfg(feature = "shop")]
pub mod commands;
pub mod consumer;
#[cfg(feature = "shop")]
pub mod dead;
#[cfg(feature = "shop")]
mod faults;
pub mod gate;
#[cfg(feature = "shop")]
mod http;
pub mod id;
pub mod job;
#[cfg(feature = "shop")]
pub mod lab;
pub mod ledger;
pub mod lifecycle;
pub mod lock;
mod log;
pub mod metrics;
pub mod outbox;
mod problem;
#[cfg(feature = "shop")]
pub mod provider;
#[cfg(feature = "shop")]
pub mod server;
#[cfg(feature = "shop")]
pub mod shop;
pub mod sql;
#[cfg(feature = "shop")]
pub mod sums;
