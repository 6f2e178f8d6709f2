//! The shop's statements.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::{Connection, Database};
use crate::shop::{Item, Order, Product};

const LONGEST_LIST: i64 = 50;

/// Takes goods off the shelf if there are enough: one conditional statement, so that stock cannot
/// become negative whatever runs at the same time. `None`: too few, or no such article.
pub(crate) async fn take_stock(
    connection: &mut Connection,
    sku: &str,
    quantity: i64,
) -> Result<Option<Item>, sqlx::Error> {
    let taken = query(
        "UPDATE products SET stock = stock - ?1 WHERE sku = ?2 AND stock >= ?1
         RETURNING name, price_cents",
    )
    .bind(quantity)
    .bind(sku)
    .fetch_optional(connection)
    .await?;
    let item = |row: SqliteRow| {
        Ok(Item {
            sku: sku.to_owned(),
            name: row.try_get("name")?,
            quantity,
            price_cents: row.try_get("price_cents")?,
        })
    };
    taken.map(item).transpose()
}

/// How many are left. `None`: no such article.
pub(crate) async fn stock(
    connection: &mut Connection,
    sku: &str,
) -> Result<Option<i64>, sqlx::Error> {
    query("SELECT stock FROM products WHERE sku = ?")
        .bind(sku)
        .fetch_optional(connection)
        .await?
        .map(|row| row.try_get("stock"))
        .transpose()
}

pub(crate) async fn insert_order(
    connection: &mut Connection,
    order: &Order,
    email: &str,
) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO orders (id, request_id, email, total_cents, currency, created_at)
         VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(&order.id)
    .bind(&order.request_id)
    .bind(email)
    .bind(order.total_cents)
    .bind(&order.currency)
    .bind(order.created_at)
    .execute(&mut *connection)
    .await?;
    for (line, item) in (0_i64..).zip(&order.items) {
        query(
            "INSERT INTO order_items (order_id, line, sku, name, quantity, price_cents)
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(&order.id)
        .bind(line)
        .bind(&item.sku)
        .bind(&item.name)
        .bind(item.quantity)
        .bind(item.price_cents)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

pub(crate) async fn insert_payment(
    connection: &mut Connection,
    order: &Order,
    card_last4: &str,
) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO payments (id, order_id, amount_cents, currency, card_last4, created_at)
         VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(&order.payment_id)
    .bind(&order.id)
    .bind(order.total_cents)
    .bind(&order.currency)
    .bind(card_last4)
    .bind(order.created_at)
    .execute(connection)
    .await?;
    Ok(())
}

pub(crate) async fn products(database: &Database) -> Result<Vec<Product>, sqlx::Error> {
    let product = |row: &SqliteRow| {
        Ok(Product {
            sku: row.try_get("sku")?,
            name: row.try_get("name")?,
            name_zh: row.try_get("name_zh")?,
            price_cents: row.try_get("price_cents")?,
            stock: row.try_get("stock")?,
        })
    };
    query("SELECT sku, name, name_zh, price_cents, stock FROM products ORDER BY rowid")
        .fetch_all(database.readers())
        .await?
        .iter()
        .map(product)
        .collect()
}

/// The newest orders, of one key or of all.
pub(crate) async fn orders(
    database: &Database,
    request_id: Option<&str>,
) -> Result<Vec<Order>, sqlx::Error> {
    let found = query(
        "SELECT orders.*, payments.id AS payment_id
         FROM orders LEFT JOIN payments ON payments.order_id = orders.id
         WHERE ?1 IS NULL OR request_id = ?1
         ORDER BY orders.created_at DESC, orders.id DESC LIMIT ?2",
    )
    .bind(request_id)
    .bind(LONGEST_LIST)
    .fetch_all(database.readers())
    .await?;
    let mut orders = Vec::with_capacity(found.len());
    for row in &found {
        orders.push(read_order(database, row).await?);
    }
    Ok(orders)
}

pub(crate) async fn order(database: &Database, id: &str) -> Result<Option<Order>, sqlx::Error> {
    let found = query(
        "SELECT orders.*, payments.id AS payment_id
         FROM orders LEFT JOIN payments ON payments.order_id = orders.id WHERE orders.id = ?",
    )
    .bind(id)
    .fetch_optional(database.readers())
    .await?;
    match found {
        Some(row) => read_order(database, &row).await.map(Some),
        None => Ok(None),
    }
}

/// Empties the shop and fills the shelves again.
pub(crate) async fn clear(connection: &mut Connection) -> Result<(), sqlx::Error> {
    for statement in [
        "DELETE FROM payments",
        "DELETE FROM order_items",
        "DELETE FROM orders",
        "UPDATE products SET stock = initial_stock",
    ] {
        query(statement).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn read_order(database: &Database, row: &SqliteRow) -> Result<Order, sqlx::Error> {
    let id: String = row.try_get("id")?;
    let item = |row: &SqliteRow| {
        Ok(Item {
            sku: row.try_get("sku")?,
            name: row.try_get("name")?,
            quantity: row.try_get("quantity")?,
            price_cents: row.try_get("price_cents")?,
        })
    };
    let items = query(
        "SELECT sku, name, quantity, price_cents FROM order_items WHERE order_id = ? ORDER BY line",
    )
    .bind(&id)
    .fetch_all(database.readers())
    .await?;
    let payment_id: Option<String> = row.try_get("payment_id")?;
    Ok(Order {
        request_id: row.try_get("request_id")?,
        items: items.iter().map(item).collect::<Result<_, sqlx::Error>>()?,
        total_cents: row.try_get("total_cents")?,
        currency: row.try_get("currency")?,
        paid: payment_id.is_some(),
        payment_id,
        created_at: row.try_get("created_at")?,
        id,
    })
}
