//! The reference shop: an order takes stock and a payment, or nothing at all.
//!
//! **Invariant: an order, its lines, its payment and the stock it takes exist together or not at
//! all.** [`place`] does all of it through one connection, inside the ledger's transaction; whoever
//! calls it rolls back what it did when it refuses.

mod order;
mod request;

use oncegate_core::key::Key;

pub(crate) use self::order::Shown;
pub use self::order::{Item, Order, Product};
use self::request::OrderRequest;
use crate::ledger::{Answer, Effect, Failure};
use crate::problem::Problem;
use crate::sql::{self, Dialect};

pub(crate) const CURRENCY: &str = "EUR";

/// The card that every test shop declines.
const DECLINED_CARD: &str = "4000000000000002";

/// Places the order that `body` asks for.
///
/// The body is judged here, after the ledger looked the key up (L2), and a body that makes no order
/// is a refusal like any other: a late copy of it must find the same answer.
///
/// # Errors
///
/// The database failed.
pub async fn place<DB: Dialect>(
    connection: &mut DB::Connection,
    key: &Key,
    body: &[u8],
    now_ms: u64,
) -> Result<Effect, Failure> {
    let request = match OrderRequest::parse(body) {
        Ok(request) => request,
        Err(problem) => return Ok(refused(&problem)),
    };
    let mut items = Vec::with_capacity(request.cart.len());
    for (index, line) in request.cart.iter().enumerate() {
        match sql::shop::take_stock::<DB>(connection, &line.sku, line.quantity).await? {
            Some(item) => items.push(item),
            None => return no_stock::<DB>(connection, index, &line.sku).await,
        }
    }
    let order = Order::new(key.as_str().to_owned(), items, now_ms);
    sql::shop::insert_order::<DB>(connection, &order, &request.email).await?;
    if request.card.number() == DECLINED_CARD {
        return Ok(card_declined());
    }
    sql::shop::insert_payment::<DB>(connection, &order, request.card.last4()).await?;
    Ok(Effect::Executed(placed(&order)))
}

/// The refusal of a card.
pub fn card_declined() -> Effect {
    refused(&Problem::new(
        402,
        "card_declined",
        "The card was declined",
        "The bank declined this card. Nothing was charged. Pay with another card.",
    ))
}

/// Either there is too little of it, or there is no such thing.
async fn no_stock<DB: Dialect>(
    connection: &mut DB::Connection,
    index: usize,
    sku: &str,
) -> Result<Effect, Failure> {
    let problem = match sql::shop::stock::<DB>(connection, sku).await? {
        None => request::invalid(format!("cart[{index}].sku"), "is not in the catalogue"),
        Some(0) => out_of_stock(format!("{sku} is sold out.")),
        Some(stock) => out_of_stock(format!("Only {stock} of {sku} are left.")),
    };
    Ok(refused(&problem))
}

fn out_of_stock(what: String) -> Problem {
    let detail = format!("{what} Nothing was ordered or charged.");
    Problem::new(409, "out_of_stock", "Not enough in stock", detail)
}

fn refused(problem: &Problem) -> Effect {
    Effect::Refused(problem.to_answer())
}

fn placed(order: &Order) -> Answer {
    Answer {
        status: 201,
        headers: vec![
            ("content-type".into(), "application/json".into()),
            ("location".into(), format!("/orders/{}", order.id)),
        ],
        body: serde_json::to_vec(&Shown { order }).expect("an order is text and numbers"),
    }
}
