//! The rows of a shard.
//!
//! Two tables: what was written in this span of time, and what was written in the one before. A row
//! is written to the newer one; when a span is over, what must still be kept moves on and the older
//! table is dropped whole. So a first execution costs two row writes over its whole life, a replay
//! none, and expiry is free. Rows that are not settled are kept without end (rule I5).
//!
//! Atomicity: every method is synchronous, and the runtime lets nothing leave before its writes are
//! durable. Where one statement more or less would matter, they are one transaction.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;

use oncegate_core::identity::Identity;
use oncegate_core::operation::{Operation, Stored};
use wasm_bindgen::prelude::*;
use worker::{Error, Result, SqlStorage, SqlStorageValue, Storage};

use crate::answer::Answer;

/// As long as the usual key ttl: then hardly any row has to be moved.
const SPAN_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

const SCHEMA_VERSION: u64 = 1;

/// Later than any time: a row that is kept until it settles. Exact in a JavaScript number.
const FOREVER_MS: u64 = (1 << 53) - 1;

#[wasm_bindgen]
extern "C" {
    type TransactionalStorage;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &TransactionalStorage,
        closure: &mut dyn FnMut() -> std::result::Result<(), JsValue>,
    ) -> std::result::Result<(), JsValue>;
}

pub(crate) struct Store {
    sql: SqlStorage,
    storage: TransactionalStorage,
    /// The span that the tables are in.
    span: Cell<u64>,
}

impl Store {
    pub(crate) fn open(storage: &Storage, now_ms: u64) -> Result<Self> {
        let sql = storage.sql();
        sql.exec(
            "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
            None,
        )?;
        let store = Self {
            sql,
            storage: AsRef::<JsValue>::as_ref(storage.as_raw())
                .clone()
                .unchecked_into(),
            span: Cell::new(0),
        };
        match store.meta("version")? {
            None => {
                store.set_meta("version", SCHEMA_VERSION)?;
                store.set_meta("span", now_ms / SPAN_MS)?;
            }
            Some(SCHEMA_VERSION) => {}
            Some(version) => {
                return Err(Error::from(format!(
                    "the shard's data has version {version}"
                )));
            }
        }
        store.create("operations")?;
        store.create("operations_earlier")?;
        store.span.set(store.meta("span")?.unwrap_or_default());
        Ok(store)
    }

    /// The record of an operation. A record that cannot be read is an error, never absent.
    pub(crate) fn read(&self, now_ms: u64, operation: &Identity) -> Result<Option<Operation>> {
        self.turn(now_ms)?;
        for table in ["operations", "operations_earlier"] {
            let query = format!("SELECT record FROM {table} WHERE id = ?");
            if let Some([SqlStorageValue::String(text)]) = self.row(&query, vec![id(operation)])? {
                let Stored::V1(record) = serde_json::from_str(&text)? else {
                    return Err(Error::from("a record of an unknown version"));
                };
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The stored answer of an operation that says it has one.
    pub(crate) fn answer(&self, operation: &Identity) -> Result<Answer> {
        for table in ["operations", "operations_earlier"] {
            let query = format!("SELECT status, headers, body FROM {table} WHERE id = ?");
            match self.row(&query, vec![id(operation)])? {
                Some(
                    [
                        SqlStorageValue::Integer(status),
                        SqlStorageValue::String(headers),
                        SqlStorageValue::Blob(body),
                    ],
                ) => {
                    let status = u16::try_from(status)
                        .map_err(|_| Error::from("a stored status that is none"))?;
                    return Ok(Answer {
                        status,
                        headers: serde_json::from_str(&headers)?,
                        body,
                    });
                }
                Some(_) => return Err(Error::from("a record without the answer it speaks of")),
                None => {}
            }
        }
        Err(Error::from("a record that is gone"))
    }

    /// Writes a record, and its answer if there is a new one.
    pub(crate) fn write(
        &self,
        operation: &Identity,
        record: Operation,
        answer: Option<&Answer>,
    ) -> Result<()> {
        self.bring_forward(operation)?;
        let has_answer = record.has_stored_answer();
        let keep_until_ms = record.keep_until_ms().unwrap_or(FOREVER_MS).min(FOREVER_MS);
        let mut values = vec![
            id(operation),
            SqlStorageValue::String(serde_json::to_string(&Stored::V1(record))?),
            SqlStorageValue::try_from_i64(keep_until_ms.cast_signed())?,
        ];
        let Some(answer) = answer else {
            // Bytes that the record does not speak of are nobody's answer any more.
            let forget = if has_answer {
                ""
            } else {
                ", status = NULL, headers = NULL, body = NULL"
            };
            self.sql.exec(
                &format!(
                    "INSERT INTO operations (id, record, keep_until_ms) VALUES (?, ?, ?)
                     ON CONFLICT (id) DO UPDATE
                     SET record = excluded.record, keep_until_ms = excluded.keep_until_ms{forget}"
                ),
                values,
            )?;
            return Ok(());
        };
        values.extend([
            SqlStorageValue::Integer(answer.status.into()),
            SqlStorageValue::String(serde_json::to_string(&answer.headers)?),
            SqlStorageValue::Blob(answer.body.clone()),
        ]);
        self.sql.exec(
            "INSERT INTO operations (id, record, keep_until_ms, status, headers, body)
             VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE
             SET record = excluded.record, keep_until_ms = excluded.keep_until_ms,
                 status = excluded.status, headers = excluded.headers, body = excluded.body",
            values,
        )?;
        Ok(())
    }

    /// A record of the earlier span is written to the newer table from now on, with its answer.
    fn bring_forward(&self, operation: &Identity) -> Result<()> {
        self.sql.exec(
            "INSERT INTO operations SELECT * FROM operations_earlier WHERE id = ?1
             AND NOT EXISTS (SELECT 1 FROM operations WHERE id = ?1)",
            vec![id(operation)],
        )?;
        Ok(())
    }

    /// Turns to the span of `now_ms`. A clock that steps back turns nothing.
    fn turn(&self, now_ms: u64) -> Result<()> {
        let span = now_ms / SPAN_MS;
        let spans_over = span.saturating_sub(self.span.get());
        if spans_over == 0 {
            return Ok(());
        }
        // A turn is some statements, of which none may be left out.
        let store = AssertUnwindSafe(self);
        self.storage.transaction_sync(&mut || {
            // After two turns both tables hold what was kept of the earlier spans.
            for _ in 0..spans_over.min(2) {
                store.turn_once(now_ms)?;
            }
            Ok(store.set_meta("span", span)?)
        })?;
        self.span.set(span);
        Ok(())
    }

    fn turn_once(&self, now_ms: u64) -> Result<()> {
        self.sql.exec(
            "INSERT OR IGNORE INTO operations
             SELECT * FROM operations_earlier WHERE keep_until_ms > ?",
            vec![SqlStorageValue::try_from_i64(now_ms.cast_signed())?],
        )?;
        self.sql.exec("DROP TABLE operations_earlier", None)?;
        self.sql
            .exec("ALTER TABLE operations RENAME TO operations_earlier", None)?;
        self.create("operations")
    }

    fn create(&self, table: &str) -> Result<()> {
        self.sql.exec(
            &format!(
                "CREATE TABLE IF NOT EXISTS {table} (
                     id BLOB PRIMARY KEY,
                     record TEXT NOT NULL,
                     keep_until_ms INTEGER NOT NULL,
                     status INTEGER, headers TEXT, body BLOB
                 ) WITHOUT ROWID"
            ),
            None,
        )?;
        Ok(())
    }

    fn meta(&self, name: &str) -> Result<Option<u64>> {
        let row = self.row("SELECT value FROM meta WHERE name = ?", vec![name.into()])?;
        Ok(match row {
            Some([SqlStorageValue::Integer(value)]) => u64::try_from(value).ok(),
            _ => None,
        })
    }

    fn set_meta(&self, name: &str, value: u64) -> Result<()> {
        self.sql.exec(
            "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
            vec![
                name.into(),
                SqlStorageValue::try_from_i64(value.cast_signed())?,
            ],
        )?;
        Ok(())
    }

    /// The first row, of `N` columns.
    fn row<const N: usize>(
        &self,
        query: &str,
        values: Vec<SqlStorageValue>,
    ) -> Result<Option<[SqlStorageValue; N]>> {
        let Some(row) = self.sql.exec(query, values)?.raw().next().transpose()? else {
            return Ok(None);
        };
        row.try_into()
            .map(Some)
            .map_err(|_| Error::from("a row of unexpected width"))
    }
}

fn id(operation: &Identity) -> SqlStorageValue {
    SqlStorageValue::Blob(operation.as_bytes().to_vec())
}
