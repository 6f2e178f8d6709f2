//! Paying an order at a payment provider, a process with books of its own (rule L7).
//!
//! **Invariant: an order is charged once, whatever dies between the provider's books and ours.** The
//! ledger says *started* before the provider is called, always under the same name, and ends with its
//! word. A card is on the wire only: it is in no row. So a recovery does not call again, it asks the provider
//! what became of the call, and the next copy of the request, which has the card, calls again.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use super::callback::{Callback, Heard, hear};
use super::card_declined;
use super::unfinished::Memo;
use crate::ledger::outside::{Known, ProviderKey};
use crate::ledger::{Answer, Call, Effect, Failure, Ledger, Verdict};
use crate::provider::client::{Client, Paid, Payment};
use crate::sql::Dialect;

/// What a payment is for.
#[derive(Clone)]
pub(crate) struct Bill {
    pub(crate) order: String,
    pub(crate) amount_cents: i64,
}

/// Has the order charged, and writes down what the provider says.
pub(crate) async fn charge<DB: Dialect>(
    ledger: &Ledger<DB>,
    provider: &Client,
    call: &Call,
    bill: Bill,
    payment: Payment,
) -> Result<Verdict, Failure> {
    let provider = provider.clone();
    let ask = async move |name: ProviderKey| {
        let paid = provider.charge(name.as_str(), &payment).await;
        paid.map_err(Into::into)
    };
    let (told, memo) = (Told::default(), Memo::of(&bill));
    let recording = told.clone();
    let record = async move |connection: &mut DB::Connection, paid: &Paid| {
        record::<DB>(connection, paid, &bill, &recording).await
    };
    let verdict = ledger.outside(call, &memo, ask, record).await?;
    told.report();
    Ok(verdict)
}

/// Asks the provider what became of a payment that was begun, and writes that down.
pub(crate) async fn find<DB: Dialect>(
    ledger: &Ledger<DB>,
    provider: &Client,
    call: &Call,
    bill: Bill,
) -> Result<Verdict, Failure> {
    let provider = provider.clone();
    let ask = async move |name: ProviderKey| match provider.find(name.as_str()).await {
        Ok(Some(paid)) => Ok(Known::Answer(paid)),
        Ok(None) => Ok(Known::Nothing),
        Err(error) => Err(error.into()),
    };
    let told = Told::default();
    let recording = told.clone();
    let record = async move |connection: &mut DB::Connection, paid: &Paid| {
        record::<DB>(connection, paid, &bill, &recording).await
    };
    let verdict = ledger.ask_outside(call, ask, record).await?;
    told.report();
    Ok(verdict)
}

/// What a person has to hear. A transaction that did not commit has told nobody: what the last one heard counts.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Option<(Callback, Heard)>>>);

impl Told {
    fn set(&self, callback: Callback, heard: Heard) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((callback, heard));
    }

    fn report(&self) {
        if let Some((callback, heard)) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            heard.report(callback);
        }
    }
}

/// The provider's word, in the shop's books: as if it had called back.
async fn record<DB: Dialect>(
    connection: &mut DB::Connection,
    paid: &Paid,
    bill: &Bill,
    told: &Told,
) -> Result<Effect, Failure> {
    let Paid::Charged(charge) = paid else {
        return Ok(card_declined());
    };
    let callback = Callback {
        pay_no: charge.clone(),
        order_no: bill.order.clone(),
        amount_cents: bill.amount_cents,
        sign: String::new(),
    };
    let heard = hear::<DB>(connection, &callback).await?;
    let outcome = match heard {
        Heard::Before | Heard::Paid => "paid",
        Heard::Surplus => "surplus",
        Heard::Foreign(_) | Heard::Forged | Heard::NoOrder => {
            return Err(Failure::Unknown(heard.why().into()));
        }
    };
    let body = json!({ "order": bill.order, "charge": charge, "outcome": outcome });
    told.set(callback, heard);
    Ok(Effect::Executed(Answer::json(200, &body)?))
}
