//! What the shop shows of its goods and orders.

use serde::Serialize;
use uuid::Uuid;

use super::CURRENCY;

/// A thing on sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Product {
    /// The article number.
    pub sku: String,
    /// Its name in English.
    pub name: String,
    /// Its name in Chinese.
    pub name_zh: String,
    /// The price of one.
    pub price_cents: i64,
    /// How many are left.
    pub stock: i64,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Item {
    /// The article number.
    pub sku: String,
    /// Its name at the time.
    pub name: String,
    /// How many.
    pub quantity: i64,
    /// The price of one at the time.
    pub price_cents: i64,
}

/// An order that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Order {
    /// `ord_…`
    pub id: String,
    /// The key it was placed under.
    pub request_id: String,
    /// Its lines.
    pub items: Vec<Item>,
    /// What was charged.
    pub total_cents: i64,
    /// The currency of the amounts.
    pub currency: String,
    /// Whether there is a payment. There always is one: the two are committed together.
    pub paid: bool,
    /// `pay_…`
    pub payment_id: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub created_at: i64,
}

/// How an order is shown, wherever it is the only one.
#[derive(Serialize)]
pub(crate) struct Shown<'a> {
    pub(crate) order: &'a Order,
}

impl Order {
    pub(super) fn new(request_id: String, items: Vec<Item>, now_ms: u64) -> Self {
        Self {
            id: format!("ord_{}", Uuid::now_v7().simple()),
            request_id,
            total_cents: items
                .iter()
                .map(|item| item.quantity * item.price_cents)
                .sum(),
            items,
            currency: CURRENCY.to_owned(),
            paid: true,
            payment_id: Some(format!("pay_{}", Uuid::now_v7().simple())),
            created_at: now_ms.cast_signed(),
        }
    }
}
