//! The statements of jobs.

use oncegate_core::lifecycle::{SettlementStatus, Status};

use super::work::{FirstInsert, first_insert, is_first};
use super::{Dialect, Row, Statements};
use crate::id::Id;

const MERCHANT: FirstInsert =
    first_insert!("merchants", "merchant, balance_cents", "?, 0", "merchant");

/// A row that is to be settled.
#[derive(Clone, Debug)]
pub(crate) struct Settlement {
    pub(crate) order_id: String,
    pub(crate) merchant: String,
    pub(crate) amount_cents: i64,
    pub(crate) status: SettlementStatus,
}

pub(crate) async fn begin_run<DB: Dialect>(
    connection: &mut DB::Connection,
    task: Id<'_>,
    run: Id<'_>,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO job_runs (id, task, started_at, settled) VALUES (?, ?, ?, 0)";
    let values = [run.into(), task.into(), now_ms.cast_signed().into()];
    connection.run(sql, &values).await?;
    Ok(())
}

pub(crate) async fn end_run<DB: Dialect>(
    connection: &mut DB::Connection,
    run: Id<'_>,
    now_ms: u64,
    settled: u64,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE job_runs SET ended_at = ?, settled = ? WHERE id = ?";
    let values = [
        now_ms.cast_signed().into(),
        settled.cast_signed().into(),
        run.into(),
    ];
    connection.run(sql, &values).await?;
    Ok(())
}

/// What is open, the rows of a run that died among them.
pub(crate) async fn open<DB: Dialect>(
    connection: &mut DB::Connection,
) -> Result<Vec<Settlement>, sqlx::Error> {
    let sql = "SELECT order_id, merchant, amount_cents, status FROM settlements
               WHERE status < ? ORDER BY order_id LIMIT 100";
    let open = connection
        .all(sql, &[SettlementStatus::Done.code().into()])
        .await?;
    open.iter().map(read).collect()
}

/// Who took the row.
pub(crate) async fn note_run<DB: Dialect>(
    connection: &mut DB::Connection,
    order_id: &str,
    run: Id<'_>,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE settlements SET run_id = ? WHERE order_id = ?";
    connection.run(sql, &[run.into(), order_id.into()]).await?;
    Ok(())
}

/// The payment's row and the merchant's balance, together. A second payment for an order violates
/// the primary key.
pub(crate) async fn pay_out<DB: Dialect>(
    connection: &mut DB::Connection,
    row: &Settlement,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO payouts (order_id, merchant, amount_cents, created_at)
               VALUES (?, ?, ?, ?)";
    let values = [
        (&row.order_id).into(),
        (&row.merchant).into(),
        row.amount_cents.into(),
        now_ms.cast_signed().into(),
    ];
    connection.run(sql, &values).await?;
    if !add::<DB>(connection, row).await? {
        is_first::<DB>(connection, MERCHANT, &[(&row.merchant).into()]).await?;
        add::<DB>(connection, row).await?;
    }
    Ok(())
}

async fn add<DB: Dialect>(
    connection: &mut DB::Connection,
    row: &Settlement,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE merchants SET balance_cents = balance_cents + ? WHERE merchant = ?";
    let values = [row.amount_cents.into(), (&row.merchant).into()];
    Ok(connection.run(sql, &values).await? == 1)
}

fn read<DB: Dialect>(row: &Row<DB>) -> Result<Settlement, sqlx::Error> {
    let code: i64 = row.get("status")?;
    let unknown = || sqlx::Error::Decode(format!("there is no status {code}").into());
    Ok(Settlement {
        order_id: row.get("order_id")?,
        merchant: row.get("merchant")?,
        amount_cents: row.get("amount_cents")?,
        status: SettlementStatus::from_code(code).ok_or_else(unknown)?,
    })
}
