//! The shop's statements.

use oncegate_core::lifecycle::{OrderStatus, SettlementStatus, Status};

use super::{Database, Dialect, Row, Sql, Statements};
use crate::clock::now_ms;
use crate::shop::{Item, Order, Product, is_paid};

const LONGEST_LIST: i64 = 50;

/// Takes goods off the shelf if there are enough: one conditional statement, so that stock cannot
/// become negative whatever runs at the same time. `None`: too few, or no such article.
pub(crate) async fn take_stock<DB: Dialect>(
    connection: &mut DB::Connection,
    sku: &str,
    quantity: i64,
) -> Result<Option<Item>, sqlx::Error> {
    let sql = "UPDATE products SET stock = stock - ? WHERE sku = ? AND stock >= ?";
    let taken = connection
        .run(sql, &[quantity.into(), sku.into(), quantity.into()])
        .await?;
    if taken == 0 {
        return Ok(None);
    }
    article::<DB>(connection, sku, quantity).await
}

/// How many are left. `None`: no such article.
pub(crate) async fn stock<DB: Dialect>(
    connection: &mut DB::Connection,
    sku: &str,
) -> Result<Option<i64>, sqlx::Error> {
    let sql = "SELECT stock FROM products WHERE sku = ?";
    let row = connection.first(sql, &[sku.into()]).await?;
    row.map(|row| row.get("stock")).transpose()
}

pub(crate) async fn insert_order<DB: Dialect>(
    connection: &mut DB::Connection,
    order: &Order,
    email: &str,
) -> Result<(), sqlx::Error> {
    connection
        .run(
            "INSERT INTO orders (id, request_id, email, total_cents, currency, created_at, status)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
            &[
                (&order.id).into(),
                (&order.request_id).into(),
                email.into(),
                order.total_cents.into(),
                (&order.currency).into(),
                order.created_at.into(),
                order.status.code().into(),
            ],
        )
        .await?;
    for (line, item) in (0_i64..).zip(&order.items) {
        connection
            .run(
                "INSERT INTO order_items (order_id, line, sku, name, quantity, price_cents)
                 VALUES (?, ?, ?, ?, ?, ?)",
                &[
                    (&order.id).into(),
                    line.into(),
                    (&item.sku).into(),
                    (&item.name).into(),
                    item.quantity.into(),
                    item.price_cents.into(),
                ],
            )
            .await?;
    }
    Ok(())
}

pub(crate) async fn insert_payment<DB: Dialect>(
    connection: &mut DB::Connection,
    order: &Order,
    card_last4: &str,
) -> Result<(), sqlx::Error> {
    connection
        .run(
            "INSERT INTO payments (id, order_id, amount_cents, currency, card_last4, created_at)
             VALUES (?, ?, ?, ?, ?, ?)",
            &[
                order.payment_id.as_deref().into(),
                (&order.id).into(),
                order.total_cents.into(),
                (&order.currency).into(),
                card_last4.into(),
                order.created_at.into(),
            ],
        )
        .await?;
    Ok(())
}

pub(crate) async fn products<DB: Dialect>(
    database: &Database<DB>,
) -> Result<Vec<Product>, sqlx::Error> {
    let product = |row: &Row<DB>| {
        Ok(Product {
            sku: row.get("sku")?,
            name: row.get("name")?,
            name_zh: row.get("name_zh")?,
            price_cents: row.get("price_cents")?,
            stock: row.get("stock")?,
        })
    };
    let sql = "SELECT sku, name, name_zh, price_cents, stock FROM products ORDER BY place";
    let rows = database.read().await?.all(sql, &[]).await?;
    rows.iter().map(product).collect()
}

/// The newest orders, of one key or of all.
pub(crate) async fn orders<DB: Dialect>(
    database: &Database<DB>,
    request_id: Option<&str>,
) -> Result<Vec<Order>, sqlx::Error> {
    let mut connection = database.read().await?;
    let found = match request_id {
        Some(request_id) => {
            connection
                .all(
                    "SELECT orders.*, payments.id AS payment_id
                     FROM orders LEFT JOIN payments ON payments.order_id = orders.id
                     WHERE request_id = ?",
                    &[request_id.into()],
                )
                .await?
        }
        None => {
            connection
                .all(
                    "SELECT orders.*, payments.id AS payment_id
                     FROM orders LEFT JOIN payments ON payments.order_id = orders.id
                     ORDER BY orders.created_at DESC, orders.id DESC LIMIT ?",
                    &[LONGEST_LIST.into()],
                )
                .await?
        }
    };
    let mut orders = Vec::with_capacity(found.len());
    for row in &found {
        orders.push(read_order::<DB>(&mut connection, row).await?);
    }
    Ok(orders)
}

pub(crate) async fn order<DB: Dialect>(
    database: &Database<DB>,
    id: &str,
) -> Result<Option<Order>, sqlx::Error> {
    let mut connection = database.read().await?;
    let found = connection
        .first(
            "SELECT orders.*, payments.id AS payment_id
             FROM orders LEFT JOIN payments ON payments.order_id = orders.id
             WHERE orders.id = ?",
            &[id.into()],
        )
        .await?;
    match found {
        Some(row) => read_order::<DB>(&mut connection, &row).await.map(Some),
        None => Ok(None),
    }
}

/// Empties the shop and fills the shelves again.
pub(crate) async fn clear<DB: Dialect>(connection: &mut DB::Connection) -> Result<(), sqlx::Error> {
    for statement in [
        "DELETE FROM outbox",
        "DELETE FROM consumed",
        "DELETE FROM dead_letters",
        "DELETE FROM stock_moves",
        "DELETE FROM coupons",
        "DELETE FROM notices",
        "DELETE FROM accounts",
        "DELETE FROM point_operations",
        "DELETE FROM members",
        "DELETE FROM settlements",
        "DELETE FROM payouts",
        "DELETE FROM merchants",
        "DELETE FROM callbacks",
        "DELETE FROM payments",
        "DELETE FROM order_items",
        "DELETE FROM orders",
        "UPDATE products SET stock = initial_stock",
    ] {
        connection.run(statement, &[]).await?;
    }
    Ok(())
}

async fn read_order<DB: Dialect>(
    connection: &mut DB::Connection,
    row: &Row<DB>,
) -> Result<Order, sqlx::Error> {
    let id: String = row.get("id")?;
    let item = |row: &Row<DB>| {
        Ok(Item {
            sku: row.get("sku")?,
            name: row.get("name")?,
            quantity: row.get("quantity")?,
            price_cents: row.get("price_cents")?,
        })
    };
    let sql = "SELECT sku, name, quantity, price_cents FROM order_items
         WHERE order_id = ? ORDER BY line";
    let items = connection.all(sql, &[(&id).into()]).await?;
    let payment_id: Option<String> = row.get("payment_id")?;
    let status = read_status(row)?;
    Ok(Order {
        request_id: row.get("request_id")?,
        items: items.iter().map(item).collect::<Result<_, sqlx::Error>>()?,
        total_cents: row.get("total_cents")?,
        currency: row.get("currency")?,
        payment_id,
        paid: is_paid(status),
        status,
        created_at: row.get("created_at")?,
        id,
    })
}

/// A line of an order that goods are moved for.
pub(crate) struct Line {
    pub(crate) number: i64,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
}

/// What an order costs; whoever asks has the order's row until the transaction ends, so that callers who
/// write about one order come one after the other. `None`: no such order.
pub(crate) async fn lock_total<DB: Dialect>(
    connection: &mut DB::Connection,
    id: &str,
) -> Result<Option<i64>, sqlx::Error> {
    let sql = Sql {
        mysql: "SELECT total_cents FROM orders WHERE id = ? FOR UPDATE",
        postgres: "SELECT total_cents FROM orders WHERE id = ? FOR NO KEY UPDATE",
        sqlite: "SELECT total_cents FROM orders WHERE id = ?",
    };
    let row = connection.first(sql, &[id.into()]).await?;
    row.map(|row| row.get("total_cents")).transpose()
}

/// The lines of an order, those of one article together.
pub(crate) async fn lines_by_sku<DB: Dialect>(
    connection: &mut DB::Connection,
    order: &str,
) -> Result<Vec<Line>, sqlx::Error> {
    let sql = "SELECT line, sku, quantity FROM order_items WHERE order_id = ? ORDER BY sku, line";
    let line = |row: &Row<DB>| {
        Ok(Line {
            number: row.get("line")?,
            sku: row.get("sku")?,
            quantity: row.get("quantity")?,
        })
    };
    let rows = connection.all(sql, &[order.into()]).await?;
    rows.iter().map(line).collect()
}

/// An article for an order that is paid later: nothing is taken off the shelf. `None`: no such article.
pub(crate) async fn article<DB: Dialect>(
    connection: &mut DB::Connection,
    sku: &str,
    quantity: i64,
) -> Result<Option<Item>, sqlx::Error> {
    let sql = "SELECT name, price_cents FROM products WHERE sku = ?";
    let row = connection.first(sql, &[sku.into()]).await?;
    let item = |row: Row<DB>| {
        Ok(Item {
            sku: sku.to_owned(),
            name: row.get("name")?,
            quantity,
            price_cents: row.get("price_cents")?,
        })
    };
    row.map(item).transpose()
}

/// The merchant is owed what a finished order cost, to be settled by the job.
pub(crate) async fn owe_merchant<DB: Dialect>(
    connection: &mut DB::Connection,
    order: &str,
    merchant: &str,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO settlements (order_id, merchant, amount_cents, status, created_at)
               SELECT id, ?, total_cents, ?, ? FROM orders WHERE id = ?";
    let values = [
        merchant.into(),
        SettlementStatus::Init.code().into(),
        now_ms().cast_signed().into(),
        order.into(),
    ];
    connection.run(sql, &values).await?;
    Ok(())
}

/// Where an order stands. `None`: no such order.
pub(crate) async fn status<DB: Dialect>(
    connection: &mut DB::Connection,
    id: &str,
) -> Result<Option<OrderStatus>, sqlx::Error> {
    let sql = "SELECT status FROM orders WHERE id = ?";
    let row = connection.first(sql, &[id.into()]).await?;
    row.map(|row| read_status(&row)).transpose()
}

/// The points of a user. One without an account has none.
pub(crate) async fn points<DB: Dialect>(
    database: &Database<DB>,
    user: &str,
) -> Result<i64, sqlx::Error> {
    let sql = "SELECT points FROM accounts WHERE user_id = ?";
    let row = database.read().await?.first(sql, &[user.into()]).await?;
    row.map_or(Ok(0), |row| row.get("points"))
}

fn read_status<DB: Dialect>(row: &Row<DB>) -> Result<OrderStatus, sqlx::Error> {
    let code: i64 = row.get("status")?;
    let unknown = || sqlx::Error::Decode(format!("there is no status {code}").into());
    OrderStatus::from_code(code).ok_or_else(unknown)
}
