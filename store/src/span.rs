//! The tables: made, migrated, and turned when a span of time is over.

use super::Store;
use super::database::{Database, Fault, Value};
use super::sql::columns;

/// As long as the usual key ttl: then hardly any row has to be moved.
const SPAN_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

/// The version of the tables. Code of version N reads tables of N-1 and migrates them.
const VERSION: u64 = 2;

const CREATE_META: &str =
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID";

const CREATE_ATTENTION: &str = "CREATE TABLE attention (
         id BLOB PRIMARY KEY,
         due_ms INTEGER NOT NULL,
         settle_ms INTEGER NOT NULL,
         tries INTEGER NOT NULL,
         told INTEGER NOT NULL
     ) WITHOUT ROWID";

macro_rules! create {
    ($table:literal) => {
        concat!(
            "CREATE TABLE ",
            $table,
            " (
                 id BLOB PRIMARY KEY,
                 record TEXT NOT NULL,
                 keep_until_ms INTEGER NOT NULL,
                 status INTEGER, headers TEXT, body BLOB,
                 request TEXT, request_body BLOB
             ) WITHOUT ROWID"
        )
    };
}

/// Version 1 had no stored requests and no list. Adding a column rewrites no row.
const MIGRATE_1: [&str; 5] = [
    "ALTER TABLE operations ADD COLUMN request TEXT",
    "ALTER TABLE operations ADD COLUMN request_body BLOB",
    "ALTER TABLE operations_earlier ADD COLUMN request TEXT",
    "ALTER TABLE operations_earlier ADD COLUMN request_body BLOB",
    CREATE_ATTENTION,
];

const CREATE: [&str; 3] = [
    create!("operations"),
    create!("operations_earlier"),
    CREATE_ATTENTION,
];

/// What is to be kept of the earlier span, unless it was written in this one.
const KEEP: &str = concat!(
    "INSERT OR IGNORE INTO operations SELECT ",
    columns!(),
    " FROM operations_earlier WHERE keep_until_ms > ?1"
);

const TURN: [&str; 3] = [
    "DROP TABLE operations_earlier",
    "ALTER TABLE operations RENAME TO operations_earlier",
    create!("operations"),
];

impl<D: Database> Store<D> {
    pub(crate) fn prepare(&self, now_ms: u64) -> Result<(), D::Error> {
        self.database.run(CREATE_META, Vec::new())?;
        match self.meta("version")? {
            Some(VERSION) => {}
            Some(1) => self.make(&MIGRATE_1, None)?,
            None => self.make(&CREATE, Some(now_ms / SPAN_MS))?,
            Some(version) => return Err(Fault::UnknownVersion(version).into()),
        }
        self.span.set(self.meta("span")?.unwrap_or_default());
        Ok(())
    }

    /// Makes the tables what this version needs, all of it or nothing.
    fn make(&self, statements: &[&str], span: Option<u64>) -> Result<(), D::Error> {
        self.database.atomically(&mut || {
            for statement in statements {
                self.database.run(statement, Vec::new())?;
            }
            if let Some(span) = span {
                self.set_meta("span", span)?;
            }
            self.set_meta("version", VERSION)
        })
    }

    /// Turns to the span of `now_ms`. A clock that steps back turns nothing.
    pub(crate) fn turn(&self, now_ms: u64) -> Result<(), D::Error> {
        let span = now_ms / SPAN_MS;
        let spans_over = span.saturating_sub(self.span.get());
        if spans_over == 0 {
            return Ok(());
        }
        // A turn is some statements, of which none may be left out.
        self.database.atomically(&mut || {
            // After two turns both tables hold what was kept of the earlier spans.
            for _ in 0..spans_over.min(2) {
                self.database.run(KEEP, vec![Value::Integer(now_ms)])?;
                for statement in TURN {
                    self.database.run(statement, Vec::new())?;
                }
            }
            self.set_meta("span", span)
        })?;
        self.span.set(span);
        Ok(())
    }

    fn meta(&self, name: &str) -> Result<Option<u64>, D::Error> {
        let values = vec![Value::Text(name.to_owned())];
        match self.first::<1>("SELECT value FROM meta WHERE name = ?1", values)? {
            Some([Value::Integer(value)]) => Ok(Some(value)),
            None => Ok(None),
            Some(_) => Err(Fault::Row("meta").into()),
        }
    }

    fn set_meta(&self, name: &str, value: u64) -> Result<(), D::Error> {
        let values = vec![Value::Text(name.to_owned()), Value::Integer(value)];
        self.database
            .run(
                "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)",
                values,
            )
            .map(drop)
    }
}
