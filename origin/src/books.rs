//! Whether the books balance: stock, charges, points and payouts, recomputed from the rows.
//!
//! **Invariant: every finding is a number that two tables disagree about.** Nothing is mended here. On a
//! shop that is at work, a check sees one moment of it and keeps nobody waiting; what the relay has not
//! delivered yet is no finding. With a broker in between, what its consumers have not had yet is one.

use std::fmt;

use crate::ledger::Failure;
use crate::sql::{Database, Dialect, Statements};

/// What does not balance. Empty: everything does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(Vec<String>);

/// A question whose answer is the names of the rows that are wrong.
struct Question {
    what: &'static str,
    sql: &'static str,
}

/// Sums stay inside the statements: the databases give them different types.
const QUESTIONS: [Question; 11] = [
    Question {
        what: "stock: the shelf, and what left it",
        sql: "SELECT products.sku AS name FROM products
              LEFT JOIN (SELECT sku, SUM(quantity) AS quantity FROM order_items
                  WHERE order_id IN (SELECT order_id FROM payments) GROUP BY sku) AS sold
                  ON sold.sku = products.sku
              LEFT JOIN (SELECT sku, SUM(quantity) AS quantity FROM stock_moves
                  GROUP BY sku) AS moved ON moved.sku = products.sku
              WHERE products.initial_stock - products.stock
                  <> COALESCE(sold.quantity, 0) + COALESCE(moved.quantity, 0)",
    },
    Question {
        what: "charges: an order that was paid has one payment",
        sql: "SELECT name FROM (SELECT orders.id AS name,
                  (SELECT COUNT(*) FROM payments WHERE payments.order_id = orders.id)
                  + (SELECT COUNT(*) FROM callbacks WHERE callbacks.order_id = orders.id
                     AND callbacks.outcome = 'settled') AS found,
                  1 AS due FROM orders WHERE orders.status IN (2, 3, 4)) AS paid
              WHERE found <> due",
    },
    Question {
        what: "charges: an order that waits has no payment",
        sql: "SELECT orders.id AS name FROM orders
              WHERE orders.status = 1
              AND (EXISTS (SELECT 1 FROM payments WHERE payments.order_id = orders.id)
                OR EXISTS (SELECT 1 FROM callbacks WHERE callbacks.order_id = orders.id))",
    },
    Question {
        what: "charges: a payment is what the order costs",
        sql: "SELECT orders.id AS name
              FROM orders JOIN (SELECT order_id, amount_cents FROM payments
                  UNION ALL SELECT order_id, amount_cents FROM callbacks) AS paid
                  ON paid.order_id = orders.id
              WHERE paid.amount_cents <> orders.total_cents",
    },
    Question {
        what: "messages: a payment that was called back owes three",
        sql: "SELECT name FROM (SELECT callbacks.order_id AS name,
                  (SELECT COUNT(*) FROM outbox WHERE outbox.aggregate = callbacks.order_id
                   AND outbox.place BETWEEN 200 AND 299) AS found,
                  3 AS due FROM callbacks WHERE callbacks.outcome = 'settled') AS owed
              WHERE found <> due",
    },
    Question {
        what: "messages: what is delivered has its effect",
        sql: "SELECT outbox.id AS name FROM outbox
              WHERE outbox.state = 'delivered'
              AND ((outbox.topic = 'notice'
                  AND NOT EXISTS (SELECT 1 FROM notices WHERE notices.id = outbox.id))
                OR (outbox.topic = 'coupon'
                  AND NOT EXISTS (SELECT 1 FROM coupons WHERE coupons.order_id = outbox.aggregate)))",
    },
    Question {
        what: "stock: a message moves each line once",
        sql: "SELECT name FROM (SELECT outbox.id AS name,
                  (SELECT COUNT(*) FROM stock_moves WHERE stock_moves.id LIKE CONCAT(outbox.id, '/%'))
                    AS found,
                  (SELECT COUNT(*) FROM order_items WHERE order_items.order_id = outbox.aggregate)
                    AS due
                  FROM outbox WHERE outbox.state = 'delivered'
                  AND outbox.topic IN ('stock', 'return')) AS moves
              WHERE found <> due",
    },
    Question {
        what: "points: an account is the sum of its operations",
        sql: "SELECT name FROM (SELECT accounts.user_id AS name, accounts.points AS found,
                  (SELECT COALESCE(SUM(amount), 0) FROM point_operations
                   WHERE point_operations.user_id = accounts.user_id) AS due FROM accounts) AS sums
              WHERE found <> due",
    },
    Question {
        what: "payouts: what is settled is paid out, and nothing else",
        sql: "SELECT name FROM (SELECT settlements.order_id AS name,
                  (SELECT COALESCE(SUM(payouts.amount_cents), 0) FROM payouts
                   WHERE payouts.order_id = settlements.order_id) AS found,
                  CASE settlements.status WHEN 2 THEN settlements.amount_cents ELSE 0 END AS due
                  FROM settlements) AS settled
              WHERE found <> due",
    },
    Question {
        what: "payouts: a balance is the sum of the payouts",
        sql: "SELECT name FROM (SELECT merchants.merchant AS name, merchants.balance_cents AS found,
                  (SELECT COALESCE(SUM(amount_cents), 0) FROM payouts
                   WHERE payouts.merchant = merchants.merchant) AS due FROM merchants) AS balances
              WHERE found <> due",
    },
    Question {
        what: "payouts: a finished order is owed for",
        sql: "SELECT orders.id AS name FROM orders WHERE orders.status = 4
              AND NOT EXISTS (SELECT 1 FROM settlements WHERE settlements.order_id = orders.id)",
    },
];

/// Recomputes everything.
///
/// # Errors
///
/// The database failed.
pub async fn check<DB: Dialect>(database: &Database<DB>) -> Result<Findings, Failure> {
    let mut moment = database.snapshot().await?;
    let mut findings = Vec::new();
    for Question { what, sql } in QUESTIONS {
        for row in moment.all(sql, &[]).await? {
            let name: String = row.get("name")?;
            findings.push(format!("{what}: not so for {name}"));
        }
    }
    Ok(Findings(findings))
}

impl Findings {
    /// What does not balance, a sentence each.
    pub fn list(&self) -> &[String] {
        &self.0
    }

    /// Whether everything balances.
    pub fn balance(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.balance() {
            true => f.write_str("the books balance"),
            false => f.write_str(&self.0.join("\n")),
        }
    }
}
