//! The payment provider calls, directly or through the gate.
//!
//! **Invariant: whichever way it comes, the payment number decides.** Through the gate each event is an
//! operation of the ledger as well; two events about one payment are two operations, and one payment.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::{Context, body_problem, not_found};
use crate::gate::{Reply, Signed};
use crate::ledger::{Answer, Effect, Failure};
use crate::log;
use crate::problem::Problem;
use crate::shop::callback::{self, Callback, CallbackSecret, Heard, Word};
use crate::sql::Dialect;

/// Takes note of a payment. A provider reads one word, the gate a header as well.
pub(super) async fn payment<DB: Dialect>(
    State(context): State<Context<DB>>,
    signed: Result<Signed, Reply>,
    form: Result<Form<Callback>, FormRejection>,
) -> Response {
    let Some(secret) = context.callback_secret.clone() else {
        return not_found().await.into_response();
    };
    match (signed, form) {
        (Ok(signed), form) => match through_the_gate(context, secret, signed, form).await {
            Ok(reply) | Err(reply) => reply.into_response(),
        },
        (Err(_), Ok(Form(callback))) => directly(context, secret, callback).await.into_response(),
        (Err(_), Err(rejection)) => rejection.into_response(),
    }
}

async fn directly<DB: Dialect>(
    context: Context<DB>,
    secret: CallbackSecret,
    callback: Callback,
) -> impl IntoResponse {
    let database = context.database;
    let work = context
        .gate
        .tasks()
        .spawn(async move { callback::take(&database, &secret, &callback).await });
    let word = work
        .await
        .unwrap_or_else(|error| Err(Failure::Unknown(error.into())))
        .unwrap_or_else(|failure| {
            log::error("callback", &failure);
            Word::Fail
        });
    ([(CONTENT_TYPE, "text/plain")], word.as_str())
}

async fn through_the_gate<DB: Dialect>(
    context: Context<DB>,
    secret: CallbackSecret,
    signed: Signed,
    form: Result<Form<Callback>, FormRejection>,
) -> Result<Reply, Reply> {
    let call = signed.attempt()?;
    let Form(callback) = form.map_err(|rejection| Reply::did_nothing(unreadable(&rejection)))?;
    let ledger = context.gate.ledger().clone();
    let work = context.gate.tasks().spawn(async move {
        // A transaction that did not commit has told nobody: what the last one heard counts.
        let heard = Arc::new(Mutex::new(None));
        let (told, said) = (heard.clone(), callback.clone());
        let verdict = ledger
            .once(&call, async move |connection: &mut DB::Connection| {
                let heard = callback::judge::<DB>(connection, &secret, &said).await?;
                let effect = effect(&heard)?;
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(heard);
                Ok(effect)
            })
            .await?;
        if let Some(heard) = &*heard.lock().unwrap_or_else(PoisonError::into_inner) {
            heard.report(&callback);
        }
        Ok(verdict)
    });
    let ended: Result<_, Failure> = work.await.map_err(|error| Failure::Unknown(error.into()))?;
    Ok(ended?.into())
}

/// What becomes of the event. One for an order that is not there yet is to come again: that is no
/// refusal, which would stay.
fn effect(heard: &Heard) -> Result<Effect, Failure> {
    let answer = |word: Word| Answer {
        status: 200,
        headers: vec![(CONTENT_TYPE.to_string(), "text/plain".to_owned())],
        body: word.as_str().as_bytes().to_vec(),
    };
    match heard {
        Heard::Before | Heard::Paid | Heard::Surplus => Ok(Effect::Executed(answer(Word::Success))),
        Heard::Foreign(_) => Ok(Effect::Refused(answer(Word::Fail))),
        Heard::NoOrder | Heard::Forged => Err(Failure::NotExecuted(heard.why().into())),
    }
}

/// One that did not come whole is no callback yet: the same may come again, whole.
fn unreadable(rejection: &FormRejection) -> Problem {
    if let FormRejection::BytesRejection(cut) = rejection {
        return body_problem(cut);
    }
    let detail = "The body is no callback: a form with pay_no, order_no, amount_cents and sign.";
    Problem::new(400, "callback_invalid", "This is no callback", detail)
}
