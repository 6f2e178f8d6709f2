//! The job of the settlement: what merchants are owed for finished orders.
//!
//! **Invariant: a settlement's row, its payout and the merchant's balance change together**, and the payout's primary
//! key is the order: it is paid out once, whatever the rows say.

use oncegate_core::lifecycle::{SettlementStatus, Status};

use crate::clock::now_ms;
use crate::id::Id;
use crate::job::{self, Rows, Run, Settings};
use crate::ledger::Failure;
use crate::lifecycle::StatusColumn;
use crate::sql::work::{FirstInsert, first_insert, is_first};
use crate::sql::{Database, Dialect, Row, Sql, Statements};

const MERCHANT: FirstInsert =
    first_insert!("merchants", "merchant, balance_cents", "?, 0", "merchant");

/// The table `settlements`.
struct Settlements;

/// A row that is to be settled.
struct Settlement {
    order_id: String,
    merchant: String,
    amount_cents: i64,
    status: SettlementStatus,
}

/// Settles everything that is open.
///
/// # Errors
///
/// The database failed. The next run goes on where this one ended.
pub async fn settle<DB: Dialect>(
    database: &Database<DB>,
    settings: Settings,
) -> Result<Run, Failure> {
    job::run(database, &Settlements, settings).await
}

impl<DB: Dialect> Rows<DB> for Settlements {
    type Row = Settlement;

    const TASK: Id<'static> = Id::literal("settle");

    const STATUS: StatusColumn = StatusColumn {
        name: "settlement",
        compare_and_set: Sql::same(
            "UPDATE settlements SET status = ? WHERE order_id = ? AND status = ?",
        ),
        read: Sql {
            mysql: "SELECT status FROM settlements WHERE order_id = ? FOR UPDATE",
            postgres: "SELECT status FROM settlements WHERE order_id = ? FOR NO KEY UPDATE",
            sqlite: "SELECT status FROM settlements WHERE order_id = ?",
        },
    };

    async fn open(&self, reader: &mut DB::Connection) -> Result<Vec<Settlement>, sqlx::Error> {
        let sql = "SELECT order_id, merchant, amount_cents, status FROM settlements
                   WHERE status < ? ORDER BY order_id LIMIT 100";
        let open = reader
            .all(sql, &[SettlementStatus::Done.code().into()])
            .await?;
        open.iter().map(read).collect()
    }

    fn id<'r>(&self, row: &'r Settlement) -> &'r str {
        &row.order_id
    }

    fn status(&self, row: &Settlement) -> SettlementStatus {
        row.status
    }

    /// The payout's row and the merchant's balance. A second payout for an order violates the primary key.
    async fn work(
        &self,
        connection: &mut DB::Connection,
        row: &Settlement,
        run: Id<'_>,
    ) -> Result<(), Failure> {
        let sql = "UPDATE settlements SET run_id = ? WHERE order_id = ?";
        let values = [run.into(), (&row.order_id).into()];
        connection.run(sql, &values).await?;
        let sql = "INSERT INTO payouts (order_id, merchant, amount_cents, created_at)
                   VALUES (?, ?, ?, ?)";
        let values = [
            (&row.order_id).into(),
            (&row.merchant).into(),
            row.amount_cents.into(),
            now_ms().cast_signed().into(),
        ];
        connection.run(sql, &values).await?;
        if !add::<DB>(connection, row).await? {
            is_first::<DB>(connection, MERCHANT, &[(&row.merchant).into()]).await?;
            add::<DB>(connection, row).await?;
        }
        Ok(())
    }
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
