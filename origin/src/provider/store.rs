//! The provider's books: one row for each key.

use std::path::Path;

use serde::Serialize;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteRow, SqliteSynchronous,
};
use sqlx::{FromRow, Row, query, query_as};
use uuid::Uuid;

/// A charge, or the refusal of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Charge {
    key: String,
    id: String,
    amount_cents: i64,
    currency: String,
    /// `charged` or `declined`
    outcome: String,
}

/// What is in the books for a key.
pub(super) enum Stored {
    /// This, since now or since earlier.
    Is(Charge),
    /// Something else was asked for under this key.
    OtherAmount,
}

/// The open file.
#[derive(Clone, Debug)]
pub(super) struct Books(SqlitePool);

impl Charge {
    pub(super) fn new(key: &str, amount_cents: i64, currency: &str, is_declined: bool) -> Self {
        Self {
            key: key.to_owned(),
            id: format!("ch_{}", Uuid::now_v7().simple()),
            amount_cents,
            currency: currency.to_owned(),
            outcome: if is_declined { "declined" } else { "charged" }.to_owned(),
        }
    }
}

impl FromRow<'_, SqliteRow> for Charge {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            key: row.try_get("key")?,
            id: row.try_get("id")?,
            amount_cents: row.try_get("amount_cents")?,
            currency: row.try_get("currency")?,
            outcome: row.try_get("outcome")?,
        })
    }
}

impl Books {
    pub(super) async fn open(file: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A crash on purpose must not be able to lose a charge.
            .synchronous(SqliteSynchronous::Full);
        let books = Self(SqlitePool::connect_with(options).await?);
        query(
            "CREATE TABLE IF NOT EXISTS charges (
                key          TEXT    PRIMARY KEY,
                id           TEXT    NOT NULL,
                amount_cents INTEGER NOT NULL,
                currency     TEXT    NOT NULL,
                outcome      TEXT    NOT NULL CHECK (outcome IN ('charged', 'declined'))
            ) STRICT",
        )
        .execute(&books.0)
        .await?;
        Ok(books)
    }

    /// Charges, unless something is in the books under this key.
    pub(super) async fn charge_once(&self, wanted: &Charge) -> Result<Stored, sqlx::Error> {
        query(
            "INSERT INTO charges (key, id, amount_cents, currency, outcome)
             VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
        )
        .bind(&wanted.key)
        .bind(&wanted.id)
        .bind(wanted.amount_cents)
        .bind(&wanted.currency)
        .bind(&wanted.outcome)
        .execute(&self.0)
        .await?;
        let found = self.find(&wanted.key).await?;
        let found = found.ok_or(sqlx::Error::RowNotFound)?;
        let is_same =
            (found.amount_cents, &found.currency) == (wanted.amount_cents, &wanted.currency);
        Ok(if is_same {
            Stored::Is(found)
        } else {
            Stored::OtherAmount
        })
    }

    pub(super) async fn find(&self, key: &str) -> Result<Option<Charge>, sqlx::Error> {
        query_as("SELECT * FROM charges WHERE key = ?")
            .bind(key)
            .fetch_optional(&self.0)
            .await
    }

    pub(super) async fn charges(&self) -> Result<Vec<Charge>, sqlx::Error> {
        query_as("SELECT * FROM charges ORDER BY id")
            .fetch_all(&self.0)
            .await
    }
}
