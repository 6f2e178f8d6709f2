//! The rows of an object that holds locks: one for each lock that is held, and two notes.
//!
//! Atomicity: nothing is awaited between the writes of one message, so they are durable together.

use std::cell::Cell;

use oncegate_core::lock::{Asker, Fence, Held, LockName, Owner};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use worker::{Error, Result, SqlStorage, SqlStorageValue, Storage};

/// The version of the rows. Rows of another one are an error, never a free lock.
const VERSION: u64 = 1;

/// The names of the notes.
const VERSION_NOTE: &str = "version";
const BOUND: &str = "bound";

pub(super) struct Store {
    sql: SqlStorage,
    /// Rows written, and not reported yet.
    written: Cell<u64>,
}

/// A grant, as it is stored.
#[derive(Deserialize, Serialize)]
struct Grant {
    owner: Owner,
    asker: Asker,
    fence: Fence,
    ttl_ms: u64,
    since_ms: u64,
    until_ms: u64,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    held: String,
}

#[derive(Deserialize)]
struct Note {
    number: u64,
}

impl Store {
    pub(super) fn open(storage: &Storage) -> Result<Self> {
        let store = Self {
            sql: storage.sql(),
            written: Cell::new(0),
        };
        for columns in [
            "locks (name TEXT PRIMARY KEY, held TEXT NOT NULL) WITHOUT ROWID",
            "notes (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID",
        ] {
            store.write(&format!("CREATE TABLE IF NOT EXISTS {columns}"), Vec::new())?;
        }
        match store.note(VERSION_NOTE)? {
            None => store.set_note(VERSION_NOTE, VERSION)?,
            Some(VERSION) => {}
            Some(other) => {
                return Err(Error::from(format!(
                    "the rows of the locks have version {other}"
                )));
            }
        }
        Ok(store)
    }

    /// Every lock that is held, or was when this was last looked at.
    pub(super) fn all(&self) -> Result<Vec<(LockName, Held)>> {
        let rows: Vec<Row> = self.rows("SELECT name, held FROM locks", Vec::new())?;
        rows.iter().map(Row::read).collect()
    }

    pub(super) fn put(&self, name: &LockName, held: &Held) -> Result<()> {
        let held = serde_json::to_string(&Grant::from(held))?;
        self.write(
            "INSERT OR REPLACE INTO locks (name, held) VALUES (?, ?)",
            vec![name.as_str().into(), held.into()],
        )
    }

    pub(super) fn remove(&self, name: &LockName) -> Result<()> {
        let name = vec![name.as_str().into()];
        self.write("DELETE FROM locks WHERE name = ?", name)
    }

    /// The bound of the fences, if one was stored.
    pub(super) fn bound(&self) -> Result<Option<u64>> {
        self.note(BOUND)
    }

    pub(super) fn set_bound(&self, bound: u64) -> Result<()> {
        self.set_note(BOUND, bound)
    }

    /// Counts a row that was written elsewhere: an alarm.
    pub(super) fn count_row(&self) {
        self.written.set(self.written.get() + 1);
    }

    /// Rows written since this was asked last.
    pub(super) fn take_written(&self) -> u64 {
        self.written.take()
    }

    fn note(&self, name: &str) -> Result<Option<u64>> {
        let query = "SELECT number FROM notes WHERE name = ?";
        let notes: Vec<Note> = self.rows(query, vec![name.into()])?;
        Ok(notes.first().map(|note| note.number))
    }

    fn set_note(&self, name: &str, number: u64) -> Result<()> {
        self.write(
            "INSERT OR REPLACE INTO notes (name, number) VALUES (?, ?)",
            vec![
                name.into(),
                SqlStorageValue::try_from_i64(number.cast_signed())?,
            ],
        )
    }

    fn rows<T: DeserializeOwned>(
        &self,
        query: &str,
        values: Vec<SqlStorageValue>,
    ) -> Result<Vec<T>> {
        self.sql.exec(query, values)?.to_array()
    }

    fn write(&self, statement: &str, values: Vec<SqlStorageValue>) -> Result<()> {
        let cursor = self.sql.exec(statement, values)?;
        let written = self.written.get() + cursor.rows_written() as u64;
        self.written.set(written);
        Ok(())
    }
}

impl Row {
    fn read(&self) -> Result<(LockName, Held)> {
        let wrong = |reason: String| Error::from(format!("a lock's row cannot be read: {reason}"));
        let name = LockName::parse(&self.name).map_err(|error| wrong(error.to_string()))?;
        let grant: Grant =
            serde_json::from_str(&self.held).map_err(|error| wrong(error.to_string()))?;
        Ok((name, grant.into()))
    }
}

impl From<&Held> for Grant {
    fn from(held: &Held) -> Self {
        Self {
            owner: held.owner,
            asker: held.asker,
            fence: held.fence,
            ttl_ms: held.ttl_ms,
            since_ms: held.since_ms,
            until_ms: held.until_ms,
        }
    }
}

impl From<Grant> for Held {
    fn from(grant: Grant) -> Self {
        Self {
            owner: grant.owner,
            asker: grant.asker,
            fence: grant.fence,
            ttl_ms: grant.ttl_ms,
            since_ms: grant.since_ms,
            until_ms: grant.until_ms,
        }
    }
}
