//! The life of an order after it was placed.
//!
//! **Invariant: what follows from a move is owed in the transaction of the move, and only by whoever
//! made it.** An order that is paid later takes nothing off the shelf before it is paid; that,
//! the coupon and the notice to the customer are messages in the outbox.

use oncegate_core::lifecycle::{OrderStatus, Outcome, Status};
use serde_json::json;

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
    let outcome = advance::<DB, _>(connection, ORDERS, id, expected, target).await?;
    if outcome == Outcome::Applied {
        for owed in follows(id, expected, target) {
            owe::<DB>(connection, &owed).await?;
        }
        if target == OrderStatus::Finished {
            sql::shop::owe_merchant::<DB>(connection, id, MERCHANT).await?;
        }
    }
    Ok(outcome)
}

/// The id of the message that takes the goods of an order off the shelf that is paid later.
pub(crate) fn stock_message(id: &str) -> String {
    let owed = follows(id, OrderStatus::WaitPay, OrderStatus::Paid);
    let mut stock = owed.iter().filter(|owed| owed.topic == "stock");
    stock.next().map(Owed::id).unwrap_or_default()
}

/// The messages that a move owes. Their places follow from the status, so that each is owed once and
/// those of a later status come later.
fn follows(id: &str, expected: OrderStatus, target: OrderStatus) -> Vec<Owed> {
    let topics: &[&'static str] = match (expected, target) {
        (OrderStatus::WaitPay, OrderStatus::Paid) => &["stock", "coupon", "notice"],
        (OrderStatus::Paid, OrderStatus::Canceled) => &["return", "notice"],
        _ => &["notice"],
    };
    let owed = |(number, topic): (i64, &&'static str)| Owed {
        aggregate: id.to_owned(),
        place: target.code() * 100 + number,
        topic,
        payload: json!({ "order": id, "status": target.as_str() }),
    };
    (0..).zip(topics).map(owed).collect()
}
