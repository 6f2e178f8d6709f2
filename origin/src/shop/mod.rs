//! The reference shop: an order takes stock and a payment, or nothing at all.
//!
//! **Invariant: an order, its lines, its payment and the stock it takes exist together or not at
//! all.** An order that is paid later has its payment and its stock later ([`moves`]). [`place`] does all of it through one connection, inside the ledger's transaction; whoever
//! calls it rolls back what it did when it refuses.

pub mod callback;
pub mod effects;
pub(crate) mod gauges;
pub mod moves;
mod order;
pub(crate) mod payment;
pub mod payout;
mod request;
pub(crate) mod settlement;
pub(crate) mod unfinished;

use oncegate_core::key::Key;

pub use self::order::{Item, Order, Product};
pub(crate) use self::order::{Shown, is_paid};
pub(crate) use self::request::is_card_number;
use self::request::{Line, OrderRequest, Pay};
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
        match take::<DB>(connection, line, &request.pay).await? {
            Some(item) => items.push(item),
            None => return no_stock::<DB>(connection, index, &line.sku).await,
        }
    }
    let at_once = matches!(request.pay, Pay::Card(_));
    let order = Order::new(key.as_str().to_owned(), items, at_once, now_ms);
    sql::shop::insert_order::<DB>(connection, &order, &request.email).await?;
    if let Pay::Card(card) = &request.pay {
        if card.number() == DECLINED_CARD {
            return Ok(card_declined());
        }
        sql::shop::insert_payment::<DB>(connection, &order, card.last4()).await?;
    }
    Ok(Effect::Executed(placed(&order)))
}

/// An order that is paid at once takes its goods; one that is paid later only names them.
async fn take<DB: Dialect>(
    connection: &mut DB::Connection,
    line: &Line,
    pay: &Pay,
) -> Result<Option<Item>, sqlx::Error> {
    match pay {
        Pay::Card(_) => sql::shop::take_stock::<DB>(connection, &line.sku, line.quantity).await,
        Pay::Later => sql::shop::article::<DB>(connection, &line.sku, line.quantity).await,
    }
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
