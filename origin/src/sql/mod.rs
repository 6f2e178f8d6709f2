//! The databases, and every statement that is run on them.
//!
//! **Invariant: a transaction that writes never waits for a lock longer than
//! [`LOCK_WAIT`], and sees what was committed before it got the key.** How, is written at each
//! database: [`Dialect`] is the seam. Statements are written once, with `?` for their values, and
//! run by [`Statements`]; where the databases differ, [`Sql`] has the words of each.

mod accounts;
mod database;
#[cfg(feature = "shop")]
pub(crate) mod dead;
mod dialect;
pub(crate) mod job;
#[cfg(feature = "shop")]
pub(crate) mod lab;
pub(crate) mod ledger;
#[cfg(feature = "mysql")]
mod mysql;
pub(crate) mod outbox;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
#[cfg(feature = "shop")]
pub(crate) mod shop;
#[cfg(feature = "sqlite")]
mod sqlite;
mod transaction;
pub(crate) mod work;

pub use self::accounts::OtherBuild;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) use self::database::POOL;
pub(crate) use self::database::{Busy, Patience, is_busy};
pub use self::database::{Database, LOCK_WAIT};
pub use self::dialect::{Dialect, Meaning, Sql, Statements, Value};
pub use self::row::{Column, Row};
pub(crate) use self::transaction::Transaction;
