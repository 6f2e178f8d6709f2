//! The rows of the Desk.
//!
//! Atomicity: every method is synchronous, so what one message changes is durable together.

use serde::Deserialize;
use worker::{Result, SqlStorage, SqlStorageValue, Storage};

use super::message::{Listed, Report, Trouble, Troubled};

/// How many operations one list names. Whoever works through them asks again.
const LONGEST_LIST: u64 = 500;

pub(super) struct Store {
    sql: SqlStorage,
}

/// A row of `trouble`.
#[derive(Deserialize)]
struct Row {
    operation: String,
    route: String,
    state: String,
    since_ms: u64,
}

#[derive(Deserialize)]
struct Number {
    number: u64,
}

impl Store {
    pub(super) fn open(storage: &Storage) -> Result<Self> {
        let store = Self { sql: storage.sql() };
        for columns in [
            // `rank`: the order in which somebody should look at it.
            "trouble (operation TEXT PRIMARY KEY, route TEXT NOT NULL, state TEXT NOT NULL,
                      rank INTEGER NOT NULL, since_ms INTEGER NOT NULL) WITHOUT ROWID",
            "shards (shard INTEGER PRIMARY KEY, heard_ms INTEGER NOT NULL)",
        ] {
            store
                .sql
                .exec(&format!("CREATE TABLE IF NOT EXISTS {columns}"), None)?;
        }
        Ok(store)
    }

    /// Takes a shard's report.
    pub(super) fn report(&self, report: &Report) -> Result<()> {
        let (shard, at_ms) = (i64::from(report.shard), integer(report.at_ms)?);
        let later = self.number(
            "SELECT COUNT(*) AS number FROM shards WHERE shard = ? AND heard_ms > ?",
            vec![SqlStorageValue::Integer(shard), at_ms.clone()],
        )?;
        if later > 0 {
            return Ok(());
        }
        for troubled in &report.added {
            self.add(troubled)?;
        }
        for operation in &report.removed {
            self.sql.exec(
                "DELETE FROM trouble WHERE operation = ?",
                vec![operation.as_str().into()],
            )?;
        }
        self.sql.exec(
            "INSERT OR REPLACE INTO shards (shard, heard_ms) VALUES (?, ?)",
            vec![SqlStorageValue::Integer(shard), at_ms],
        )?;
        Ok(())
    }

    fn add(&self, troubled: &Troubled) -> Result<()> {
        self.sql.exec(
            "INSERT OR REPLACE INTO trouble (operation, route, state, rank, since_ms)
             VALUES (?, ?, ?, ?, ?)",
            vec![
                troubled.operation.as_str().into(),
                troubled.route.as_str().into(),
                troubled.state.as_str().into(),
                SqlStorageValue::Integer(troubled.state as i64),
                integer(troubled.since_ms)?,
            ],
        )?;
        Ok(())
    }

    /// The operations in trouble.
    pub(super) fn list(&self) -> Result<Listed> {
        let query = format!(
            "SELECT operation, route, state, since_ms FROM trouble
             ORDER BY rank, since_ms, operation LIMIT {LONGEST_LIST}"
        );
        let rows: Vec<Row> = self.sql.exec(&query, None)?.to_array()?;
        let all = self.number("SELECT COUNT(*) AS number FROM trouble", Vec::new())?;
        let operations: Vec<_> = rows.into_iter().filter_map(Row::troubled).collect();
        Ok(Listed {
            more: all.saturating_sub(operations.len() as u64),
            operations,
        })
    }

    /// The one number that a query gives.
    fn number(&self, query: &str, values: Vec<SqlStorageValue>) -> Result<u64> {
        let rows: Vec<Number> = self.sql.exec(query, values)?.to_array()?;
        Ok(rows.first().map_or(0, |row| row.number))
    }
}

impl Row {
    /// `None` for a state that a later version wrote.
    fn troubled(self) -> Option<Troubled> {
        Some(Troubled {
            operation: self.operation,
            route: self.route,
            state: Trouble::parse(&self.state)?,
            since_ms: self.since_ms,
        })
    }
}

fn integer(value: u64) -> Result<SqlStorageValue> {
    SqlStorageValue::try_from_i64(value.cast_signed())
}
