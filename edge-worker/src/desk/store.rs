//! The rows of the Desk.
//!
//! Atomicity: every method is synchronous, so what one message changes is durable together.

use oncegate_core::alert::Ripe;
use oncegate_core::operation::TroubleState;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use worker::{Error, Result, SqlStorage, SqlStorageValue, Storage};

use super::message::{Event, Events, Heard, Listed, Numbered, Report, Troubled};

/// The version of the rows. Rows of another one are an error, never an empty list.
const VERSION: u32 = 1;

/// How many operations one list names. Whoever works through them asks again.
const LONGEST_LIST: u64 = 500;

/// When trouble has lasted for the time that is bound here, and the Desk has heard of it.
const RIPE: &str = "MAX(since_ms + ?, heard_ms)";

/// How many decisions are kept.
const EVENTS_KEPT: u64 = 1_000;

pub(super) struct Store {
    sql: SqlStorage,
}

/// How many operations of a route are in this trouble.
#[derive(Deserialize)]
pub(super) struct Troubles {
    pub(super) route: String,
    pub(super) state: String,
    pub(super) operations: u64,
}

#[derive(Deserialize)]
struct Number {
    number: u64,
}

#[derive(Deserialize)]
struct Batch {
    last: u64,
    events: String,
}

#[derive(Deserialize)]
struct Note {
    note: String,
}

impl Store {
    pub(super) fn open(storage: &Storage) -> Result<Self> {
        let store = Self { sql: storage.sql() };
        for columns in [
            // `rank`: the order in which somebody should look at it.
            "trouble (operation TEXT PRIMARY KEY, route TEXT NOT NULL, state TEXT NOT NULL,
                      rank INTEGER NOT NULL, since_ms INTEGER NOT NULL, heard_ms INTEGER NOT NULL)
             WITHOUT ROWID",
            "shards (shard INTEGER PRIMARY KEY, heard_ms INTEGER NOT NULL)",
            // One row for each tally: an event alone would cost a row.
            "events (last INTEGER PRIMARY KEY, events TEXT NOT NULL)",
            "notes (name TEXT PRIMARY KEY, note TEXT NOT NULL) WITHOUT ROWID",
        ] {
            store
                .sql
                .exec(&format!("CREATE TABLE IF NOT EXISTS {columns}"), None)?;
        }
        match store.note::<u32>("version")? {
            None => store.set_note("version", &VERSION)?,
            Some(VERSION) => {}
            Some(other) => {
                return Err(Error::from(format!("the desk's rows have version {other}")));
            }
        }
        Ok(store)
    }

    /// Takes a shard's report.
    pub(super) fn report(&self, report: &Report, now_ms: u64) -> Result<Heard> {
        let shard = SqlStorageValue::Integer(report.shard.into());
        let latest_ms = self.number(
            "SELECT heard_ms AS number FROM shards WHERE shard = ?",
            vec![shard.clone()],
        )?;
        if latest_ms > report.at_ms {
            return Ok(Heard { latest_ms });
        }
        for troubled in &report.added {
            self.add(troubled, now_ms)?;
        }
        for operation in &report.removed {
            self.sql.exec(
                "DELETE FROM trouble WHERE operation = ?",
                vec![operation.as_str().into()],
            )?;
        }
        self.sql.exec(
            "INSERT OR REPLACE INTO shards (shard, heard_ms) VALUES (?, ?)",
            vec![shard, integer(report.at_ms)?],
        )?;
        Ok(Heard {
            latest_ms: report.at_ms,
        })
    }

    /// Other trouble than before is news.
    fn add(&self, troubled: &Troubled, now_ms: u64) -> Result<()> {
        self.sql.exec(
            "INSERT INTO trouble (operation, route, state, rank, since_ms, heard_ms)
             VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (operation) DO UPDATE
             SET heard_ms = CASE state WHEN excluded.state THEN heard_ms ELSE excluded.heard_ms END,
                 state = excluded.state, rank = excluded.rank, since_ms = excluded.since_ms",
            vec![
                troubled.operation.as_str().into(),
                troubled.route.as_str().into(),
                word(troubled.state)?.into(),
                SqlStorageValue::Integer(troubled.state as i64),
                integer(troubled.since_ms)?,
                integer(now_ms)?,
            ],
        )?;
        Ok(())
    }

    /// The operations in trouble.
    pub(super) fn list(&self) -> Result<Listed> {
        self.listed("TRUE", Vec::new())
    }

    /// Those that have been for so long that somebody has to be told.
    pub(super) fn ripe(&self, now_ms: u64, after_ms: u64) -> Result<Listed> {
        let values = vec![integer(after_ms)?, integer(now_ms)?];
        self.listed(&format!("{RIPE} <= ?"), values)
    }

    fn listed(&self, which: &str, values: Vec<SqlStorageValue>) -> Result<Listed> {
        let query = format!(
            "SELECT operation, route, state, since_ms FROM trouble WHERE {which}
             ORDER BY rank, since_ms, operation LIMIT {LONGEST_LIST}"
        );
        let operations: Vec<Troubled> = self.sql.exec(&query, values.clone())?.to_array()?;
        let query = format!("SELECT COUNT(*) AS number FROM trouble WHERE {which}");
        let all = self.number(&query, values)?;
        Ok(Listed {
            more: all.saturating_sub(operations.len() as u64),
            operations,
        })
    }

    /// When there is something to tell of.
    pub(super) fn ripeness(&self, after_ms: u64, heard_ms: u64) -> Result<Ripe> {
        let first_ms = |heard_ms| {
            let query = format!(
                "SELECT {RIPE} AS number FROM trouble WHERE {RIPE} > ? ORDER BY number LIMIT 1"
            );
            let after_ms = integer(after_ms)?;
            self.first_number(&query, vec![after_ms.clone(), after_ms, integer(heard_ms)?])
        };
        Ok(Ripe {
            first_ms: first_ms(0)?,
            first_unheard_ms: first_ms(heard_ms)?,
        })
    }

    /// How many operations are in trouble, by route and state.
    pub(super) fn troubles(&self) -> Result<Vec<Troubles>> {
        let query =
            "SELECT route, state, COUNT(*) AS operations FROM trouble GROUP BY route, state";
        self.sql.exec(query, None)?.to_array()
    }

    /// Adds decisions to those that are kept.
    pub(super) fn add_events(&self, events: &[Event]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let last = self.last_event()? + events.len() as u64;
        self.sql.exec(
            "INSERT INTO events (last, events) VALUES (?, ?)",
            vec![integer(last)?, serde_json::to_string(events)?.into()],
        )?;
        self.sql.exec(
            "DELETE FROM events WHERE last <= ?",
            vec![integer(last.saturating_sub(EVENTS_KEPT))?],
        )?;
        Ok(())
    }

    /// The decisions that followed number `after`, as far as they are kept.
    pub(super) fn events(&self, after: u64) -> Result<Events> {
        let last = self.last_event()?;
        let after = after.max(last.saturating_sub(EVENTS_KEPT));
        let batches: Vec<Batch> = self
            .sql
            .exec(
                "SELECT last, events FROM events WHERE last > ? ORDER BY last",
                vec![integer(after)?],
            )?
            .to_array()?;
        let mut events = Vec::new();
        for batch in batches {
            let of: Vec<Event> = serde_json::from_str(&batch.events)?;
            let first = batch.last + 1 - of.len() as u64;
            let numbered = (first..).zip(of).filter(|(number, _)| *number > after);
            events.extend(numbered.map(|(number, event)| Numbered { number, event }));
        }
        Ok(Events { events, last })
    }

    fn last_event(&self) -> Result<u64> {
        self.number(
            "SELECT COALESCE(MAX(last), 0) AS number FROM events",
            Vec::new(),
        )
    }

    /// What was noted under this name.
    pub(super) fn note<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let query = "SELECT note FROM notes WHERE name = ?";
        let rows: Vec<Note> = self.sql.exec(query, vec![name.into()])?.to_array()?;
        let note = rows.first().map(|row| serde_json::from_str(&row.note));
        Ok(note.transpose()?)
    }

    /// Notes something under this name.
    pub(super) fn set_note(&self, name: &str, note: &impl Serialize) -> Result<()> {
        self.sql.exec(
            "INSERT OR REPLACE INTO notes (name, note) VALUES (?, ?)",
            vec![name.into(), serde_json::to_string(note)?.into()],
        )?;
        Ok(())
    }

    /// The one number that a query gives.
    fn number(&self, query: &str, values: Vec<SqlStorageValue>) -> Result<u64> {
        Ok(self.first_number(query, values)?.unwrap_or_default())
    }

    fn first_number(&self, query: &str, values: Vec<SqlStorageValue>) -> Result<Option<u64>> {
        let rows: Vec<Number> = self.sql.exec(query, values)?.to_array()?;
        Ok(rows.first().map(|row| row.number))
    }
}

/// The word that a row has for it, the same as a message.
fn word(state: TroubleState) -> Result<String> {
    let word: serde_json::Value = serde_json::to_value(state)?;
    Ok(word.as_str().unwrap_or_default().to_owned())
}

fn integer(value: u64) -> Result<SqlStorageValue> {
    SqlStorageValue::try_from_i64(value.cast_signed())
}
