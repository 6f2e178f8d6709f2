//! What the back room reads of the rows.

use serde::Serialize;

use super::{Database, Dialect, Row, Statements};

/// What somebody who took stock took out of the book.
#[derive(Serialize)]
pub(crate) struct Correction {
    pub(crate) id: String,
    pub(crate) quantity: i64,
}

/// What the ledger has of a run of a slot.
#[derive(Serialize)]
pub(crate) struct SlotRun {
    key: String,
    state: String,
}

/// The corrections of a run of stocktaking.
pub(crate) async fn corrections<DB: Dialect>(
    database: &Database<DB>,
    run: &str,
) -> Result<Vec<Correction>, sqlx::Error> {
    let correction = |row: &Row<DB>| {
        Ok(Correction {
            id: row.get("id")?,
            quantity: row.get("quantity")?,
        })
    };
    let sql = "SELECT id, quantity FROM stock_moves WHERE id LIKE ? ORDER BY created_at, id";
    let like = format!("correction-{run}-%");
    let rows = database.read().await?.all(sql, &[(&like).into()]).await?;
    rows.iter().map(correction).collect()
}

/// The ids of what a customer was told about an order.
pub(crate) async fn notices<DB: Dialect>(
    database: &Database<DB>,
    order: &str,
) -> Result<Vec<String>, sqlx::Error> {
    let sql = "SELECT id FROM notices WHERE order_id = ? ORDER BY created_at, id";
    let rows = database.read().await?.all(sql, &[order.into()]).await?;
    rows.iter().map(|row| row.get("id")).collect()
}

/// The runs of a slot that the ledger has, by the clock and by name.
pub(crate) async fn slot_runs<DB: Dialect>(
    database: &Database<DB>,
    key: &str,
) -> Result<Vec<SlotRun>, sqlx::Error> {
    let slot_run = |row: &Row<DB>| {
        Ok(SlotRun {
            key: row.get("request_key")?,
            state: row.get("state")?,
        })
    };
    let sql = "SELECT request_key, state FROM idempotency_ledger
               WHERE request_key = ? OR request_key LIKE ? ORDER BY claimed_at, request_key";
    let like = format!("{key}:%");
    let values = [key.into(), (&like).into()];
    let rows = database.read().await?.all(sql, &values).await?;
    rows.iter().map(slot_run).collect()
}

/// How many settlements have begun since then.
pub(crate) async fn settlements_since<DB: Dialect>(
    database: &Database<DB>,
    since_ms: u64,
) -> Result<i64, sqlx::Error> {
    let sql = "SELECT count(*) AS runs FROM job_runs WHERE started_at >= ?";
    let since = since_ms.cast_signed();
    let row = database.read().await?.first(sql, &[since.into()]).await?;
    row.map_or(Ok(0), |row| row.get("runs"))
}

/// A payment that a provider told of.
#[derive(Serialize)]
pub(crate) struct Heard {
    pay_no: String,
    outcome: String,
}

/// The payments of an order, by their numbers.
pub(crate) async fn callbacks<DB: Dialect>(
    database: &Database<DB>,
    order: &str,
) -> Result<Vec<Heard>, sqlx::Error> {
    let heard = |row: &Row<DB>| {
        Ok(Heard {
            pay_no: row.get("pay_no")?,
            outcome: row.get("outcome")?,
        })
    };
    let sql =
        "SELECT pay_no, outcome FROM callbacks WHERE order_id = ? ORDER BY created_at, pay_no";
    let rows = database.read().await?.all(sql, &[order.into()]).await?;
    rows.iter().map(heard).collect()
}

/// What an order owes, or has owed: the topics of its messages.
pub(crate) async fn owed<DB: Dialect>(
    database: &Database<DB>,
    order: &str,
) -> Result<Vec<String>, sqlx::Error> {
    let sql = "SELECT topic FROM outbox WHERE aggregate = ? ORDER BY place";
    let rows = database.read().await?.all(sql, &[order.into()]).await?;
    rows.iter().map(|row| row.get("topic")).collect()
}
