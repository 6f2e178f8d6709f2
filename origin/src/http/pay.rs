//! Paying an order at the payment provider, a process with books of its own (rule L7).
//!
//! **Invariant: an order is charged once, whatever dies between the provider's books and ours.** The
//! ledger says *started* before the provider is called, always under the same name, and ends with its
//! word. A card is on the wire only: it is in no row, so it takes the next copy of the request to
//! go on with what a crash left, and the gate sends one.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{Path, State};
use oncegate_core::lifecycle::OrderStatus;
use serde::Deserialize;
use serde_json::json;

use super::scenarios::{executed, malformed};
use super::{Context, not_found};
use crate::gate::{Reply, Signed};
use crate::ledger::outside::ProviderKey;
use crate::ledger::{Call, Effect, Failure, Ledger, Verdict};
use crate::problem::Problem;
use crate::provider::client::{Client, Paid, Payment};
use crate::shop::callback::{Callback, Heard, hear};
use crate::shop::{self, CURRENCY};
use crate::sql::{self, Database, Dialect};

#[derive(Deserialize)]
struct Card {
    card: String,
}

/// Pays an order that waits for it.
pub(super) async fn pay<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(id): Path<String>,
    signed: Signed,
    body: Bytes,
) -> Result<Reply, Reply> {
    let call = signed.attempt()?;
    let Some(provider) = context.provider else {
        return Err(not_found().await);
    };
    let (ledger, database) = (context.gate.ledger().clone(), context.database);
    let work = context.gate.tasks().spawn(async move {
        // The key is looked up before anything is judged that the payment itself changes (L2).
        if let Some(verdict) = ledger.look_up(&call).await? {
            return Ok(verdict);
        }
        // What was begun is gone on with: the provider may have charged.
        let is_started = ledger.is_started(&call).await?;
        match judge(&database, &id, &body, is_started).await? {
            Ok(payment) => charge(&ledger, &provider, &call, id, payment).await,
            Err(problem) => ledger.refuse(&call, problem.to_answer()).await,
        }
    });
    let ended = work.await;
    let verdict = ended.map_err(|error| Failure::Unknown(error.into()))??;
    Ok(verdict.into())
}

/// What is to be paid, or why there is nothing to pay.
async fn judge<DB: Dialect>(
    database: &Database<DB>,
    id: &str,
    body: &[u8],
    is_started: bool,
) -> Result<Result<Payment, Problem>, Failure> {
    let Card { card } = match serde_json::from_slice(body) {
        Ok(card) => card,
        Err(error) => return Ok(Err(malformed(&error))),
    };
    let Some(order) = sql::shop::order(database, id).await? else {
        let detail = "There is no order of this id. Nothing was charged.";
        return Ok(Err(Problem::new(
            404,
            "order_not_found",
            "No such order",
            detail,
        )));
    };
    if order.status != OrderStatus::WaitPay && !is_started {
        let detail = "The order waits for no payment. Nothing was charged.";
        return Ok(Err(Problem::new(
            409,
            "order_not_open",
            "Nothing to pay",
            detail,
        )));
    }
    Ok(Ok(Payment {
        amount_cents: order.total_cents,
        currency: CURRENCY.to_owned(),
        card,
    }))
}

async fn charge<DB: Dialect>(
    ledger: &Ledger<DB>,
    provider: &Client,
    call: &Call,
    id: String,
    payment: Payment,
) -> Result<Verdict, Failure> {
    let (provider, amount) = (provider.clone(), payment.amount_cents);
    let ask = async move |name: ProviderKey| {
        let paid = provider.charge(name.as_str(), &payment).await;
        paid.map_err(Into::into)
    };
    // A transaction that did not commit has told nobody: what the last one heard counts.
    let heard = Arc::new(Mutex::new(None));
    let told = heard.clone();
    let record = async move |connection: &mut DB::Connection, paid: &Paid| {
        let Paid::Charged(charge) = paid else {
            return Ok(shop::card_declined());
        };
        let callback = Callback {
            pay_no: charge.clone(),
            order_no: id.clone(),
            amount_cents: amount,
            sign: String::new(),
        };
        let (effect, what) = record::<DB>(connection, &callback).await?;
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some((callback, what));
        Ok(effect)
    };
    let verdict = ledger.outside(call, b"", ask, record).await?;
    if let Some((callback, what)) = &*heard.lock().unwrap_or_else(PoisonError::into_inner) {
        what.report(callback);
    }
    Ok(verdict)
}

/// The provider's word, in the shop's books: as if it had called back.
async fn record<DB: Dialect>(
    connection: &mut DB::Connection,
    callback: &Callback,
) -> Result<(Effect, Heard), Failure> {
    let heard = hear::<DB>(connection, callback).await?;
    let outcome = match heard {
        Heard::Before | Heard::Paid => "paid",
        Heard::Surplus => "surplus",
        Heard::Foreign(why) => return Err(Failure::Unknown(why.into())),
    };
    let Callback {
        pay_no, order_no, ..
    } = callback;
    let body = json!({ "order": order_no, "charge": pay_no, "outcome": outcome });
    Ok((executed(200, &body), heard))
}
