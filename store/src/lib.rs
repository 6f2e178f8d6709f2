//! The rows of a shard: schema, statements, and what they mean.
//!
//! Two tables hold the operations: what was written in this span of time, and what was written in the
//! one before. A row is written to the newer one; when a span is over, what must still be kept moves
//! on and the older table is dropped whole. So a first execution costs two row writes over its whole
//! life, a replay none, and expiry is free. Rows that are not settled are kept without end (rule I5).
//! A third table, [`attention`](Attention), names the few operations that the shard's alarm has to do
//! something about; it is empty when nothing is wrong.
//!
//! Atomicity: every method is synchronous, and between finding a row and writing it the caller does
//! not await. Where one statement more or less would matter, they are one transaction.
//!
//! The crate runs on any SQLite through [`Database`], so that the statements which a Durable Object
//! runs can be tested in any process.

mod attention;
mod database;
mod operations;
mod row;
mod span;
mod sql;

pub use self::attention::Attention;
pub use self::database::{Database, Fault, Row, Value};
pub use self::operations::{Found, Open, Place};
pub use self::row::{Answer, StoredRequest, Written};

use std::cell::Cell;

/// The rows of one shard.
#[derive(Debug)]
pub struct Store<D> {
    database: D,
    /// The span that the tables are in.
    span: Cell<u64>,
}

impl<D: Database> Store<D> {
    /// Opens the tables, made or migrated if need be. Tables of an unknown version are an error, never
    /// an empty store.
    pub fn open(database: D, now_ms: u64) -> Result<Self, D::Error> {
        let store = Self {
            database,
            span: Cell::new(0),
        };
        store.prepare(now_ms)?;
        Ok(store)
    }

    /// What the store runs on.
    pub fn database(&self) -> &D {
        &self.database
    }
}
