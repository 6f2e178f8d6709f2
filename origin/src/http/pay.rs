//! `POST /orders/{id}/pay`: what is judged before a payment is begun. Paying is [`crate::shop::payment`].
//!
//! **Invariant: the key is looked up before anything is judged that the payment itself changes (L2).**

use axum::body::Bytes;
use axum::extract::{Path, State};
use oncegate_core::lifecycle::OrderStatus;
use serde::Deserialize;

use super::scenarios::malformed;
use super::{Context, not_found};
use crate::gate::{Reply, Signed};
use crate::ledger::Failure;
use crate::problem::Problem;
use crate::provider::client::Payment;
use crate::shop::payment::{Bill, charge};
use crate::shop::{CURRENCY, is_card_number};
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
        if let Some(verdict) = ledger.look_up(&call).await? {
            return Ok(verdict);
        }
        // What was begun is gone on with: the provider may have charged.
        let is_started = ledger.is_started(&call).await?;
        match judge(&database, &id, &body, is_started).await? {
            Ok(payment) => {
                let bill = Bill {
                    order: id,
                    amount_cents: payment.amount_cents,
                };
                charge(&ledger, &provider, &call, bill, payment).await
            }
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
    if !is_card_number(&card) {
        let detail = "The card's number has 12 to 19 digits. Nothing was charged.";
        let problem = Problem::new(422, "field_invalid", "This field is not taken", detail);
        return Ok(Err(problem.in_field("card")));
    }
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
