//! The life of an order after it was placed.
//!
//! **Invariant: what follows from a move is owed in the transaction of the move, and only by whoever
//! made it.** An order that is paid later takes nothing off the shelf before it is paid; that,
//! the coupon and the notice to the customer are messages in the outbox.

use oncegate_core::lifecycle::{OrderStatus, Outcome, Status};
use serde_json::json;

use crate::id::{BadId, Id};
use crate::lifecycle::{StatusColumn, advance};
use crate::outbox::{Owed, owe};
use crate::sql::{self, Dialect, Sql};

const ORDERS: StatusColumn = StatusColumn {
    name: "order",
    compare_and_set: Sql::same("UPDATE orders SET status = ? WHERE id = ? AND status = ?"),
    read: Sql {
        mysql: "SELECT status FROM orders WHERE id = ? FOR UPDATE",
        postgres: "SELECT status FROM orders WHERE id = ? FOR NO KEY UPDATE",
        sqlite: "SELECT status FROM orders WHERE id = ?",
    },
};

/// Who sells everything in this shop.
pub(crate) const MERCHANT: &str = "pottery";

/// Moves an order, with everything that follows.
///
/// # Errors
///
/// The database failed. The transaction has to be rolled back.
pub async fn move_order<DB: Dialect>(
    connection: &mut DB::Connection,
    id: &str,
    expected: OrderStatus,
    target: OrderStatus,
) -> Result<Outcome<OrderStatus>, sqlx::Error> {
    let outcome = advance(connection, ORDERS, id, expected, target).await?;
    if outcome == Outcome::Applied {
        for owed in follows(id, expected, target).map_err(encode)? {
            owe(connection, &owed).await?;
        }
        if target == OrderStatus::Finished {
            sql::shop::owe_merchant::<DB>(connection, id, MERCHANT).await?;
        }
    }
    Ok(outcome)
}

/// An order that exists has an id of this shop's own, so this does not happen.
fn encode(error: BadId) -> sqlx::Error {
    sqlx::Error::Encode(error.into())
}

/// The id of the message that takes the goods of an order off the shelf that is paid later.
pub(crate) fn stock_message(id: &str) -> Result<String, BadId> {
    let owed = follows(id, OrderStatus::WaitPay, OrderStatus::Paid)?;
    let mut stock = owed.into_iter().filter(|owed| owed.topic == "stock");
    Ok(stock.next().map(|owed| owed.id).unwrap_or_default())
}

/// The messages that a move owes. Their places follow from the status, so that each is owed once and
/// those of a later status come later.
fn follows(id: &str, expected: OrderStatus, target: OrderStatus) -> Result<Vec<Owed>, BadId> {
    let topics: &[&'static str] = match (expected, target) {
        (OrderStatus::WaitPay, OrderStatus::Paid) => &["stock", "coupon", "notice"],
        (OrderStatus::Paid, OrderStatus::Canceled) => &["return", "notice"],
        _ => &["notice"],
    };
    let aggregate = Id::parse(id)?;
    let owed = |(number, topic): (i64, &&'static str)| {
        let payload = json!({ "order": id, "status": target.as_str() });
        Owed::new(aggregate, target.code() * 100 + number, topic, payload)
    };
    (0..).zip(topics).map(owed).collect()
}
