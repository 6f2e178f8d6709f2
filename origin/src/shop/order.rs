//! What the shop shows of its goods and orders.

use oncegate_core::lifecycle::{OrderStatus, Status};
use serde::{Serialize, Serializer};
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
    /// Whether the money is there.
    pub paid: bool,
    /// Where it stands.
    #[serde(serialize_with = "word")]
    pub status: OrderStatus,
    /// `pay_…`, if it was paid at once: the two are committed together.
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
    /// An order that is paid at once, or later.
    pub(super) fn new(request_id: String, items: Vec<Item>, at_once: bool, now_ms: u64) -> Self {
        Self {
            id: format!("ord_{}", Uuid::now_v7().simple()),
            request_id,
            total_cents: items
                .iter()
                .map(|item| item.quantity * item.price_cents)
                .sum(),
            items,
            currency: CURRENCY.to_owned(),
            paid: at_once,
            status: if at_once {
                OrderStatus::Paid
            } else {
                OrderStatus::WaitPay
            },
            payment_id: at_once.then(|| format!("pay_{}", Uuid::now_v7().simple())),
            created_at: now_ms.cast_signed(),
        }
    }
}

/// Whether an order of this status has been paid, and not called off.
pub(crate) fn is_paid(status: OrderStatus) -> bool {
    matches!(
        status,
        OrderStatus::Paid | OrderStatus::Shipped | OrderStatus::Finished
    )
}

fn word<S: Serializer>(status: &OrderStatus, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status.as_str())
}
