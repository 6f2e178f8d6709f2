//! The scenarios beyond placing an order: what happens to it later, callbacks, sums, messages, jobs.
//!
//! **Invariant: what changes something comes from the gate and runs under its key, once, or is
//! signed by its sender and has an identity of its own** (the payment number of a callback).

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::post;
use oncegate_core::lifecycle::{OrderStatus, Outcome as Moved, Status};
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::{Value, json};

use super::Context;
use super::callback::payment;
use super::pay::pay;
use crate::consumer::Consumed;
use crate::gate::{Reply, Signed};
use crate::id::{BadId, Id};
use crate::ledger::{Answer, Call, Effect, Failure};
use crate::outbox::Message;
use crate::problem::Problem;
use crate::shop::effects::{self, Task, Unreadable};
use crate::shop::moves::move_order;
use crate::shop::settlement;
use crate::sql::{self, Dialect};
use crate::sums::{self, Changed};

/// The routes.
pub(super) fn routes<DB: Dialect>() -> Router<Context<DB>> {
    Router::new()
        .route("/orders/{id}/pay", post(pay::<DB>))
        .route("/orders/{id}/{step}", post(step::<DB>))
        .route("/callbacks/payment", post(payment::<DB>))
        .route("/activities/{activity}/members", post(join::<DB>))
        .route("/points", post(points::<DB>))
        .route("/stock/{sku}", post(stock::<DB>))
        .route("/settlements", post(settle::<DB>))
}

/// Runs an effect under the key of the call, as a task that outlives its caller.
macro_rules! once {
    ($context:ident, $signed:ident, |$connection:ident, $key:ident| $effect:expr) => {{
        let call: Call = $signed.attempt()?;
        let $key = call.key.clone();
        let ledger = $context.gate.ledger().clone();
        let work = $context.gate.tasks().spawn(async move {
            ledger
                .once(&call, async move |$connection: &mut DB::Connection| $effect)
                .await
        });
        let ended = work.await;
        let verdict = ended.map_err(|error| Failure::Unknown(error.into()))??;
        Ok(verdict.into())
    }};
}

/// Ships, finishes or cancels an order.
async fn step<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path((id, step)): Path<(String, String)>,
    signed: Signed,
) -> Result<Reply, Reply> {
    let (expected, target) = match step.as_str() {
        "ship" => (Some(OrderStatus::Paid), OrderStatus::Shipped),
        "finish" => (Some(OrderStatus::Shipped), OrderStatus::Finished),
        // From wherever it is.
        "cancel" => (None, OrderStatus::Canceled),
        _ => return Err(super::not_found().await),
    };
    once!(context, signed, |connection, _key| {
        let found = sql::shop::status::<DB>(connection, &id).await?;
        let expected = expected.or_else(|| found.filter(|status| !status.is_final()));
        let expected = expected.unwrap_or(OrderStatus::WaitPay);
        let moved = move_order::<DB>(connection, &id, expected, target).await?;
        Ok(stepped(&id, target, moved))
    })
}

fn stepped(id: &str, target: OrderStatus, moved: Moved<OrderStatus>) -> Effect {
    let done = |outcome| {
        let status = target.as_str();
        executed(
            200,
            &json!({ "order": id, "status": status, "outcome": outcome }),
        )
    };
    match moved {
        Moved::Applied => done("applied"),
        Moved::AlreadyThere => done("already_there"),
        Moved::Missing => {
            let detail = "There is no order of this id. Nothing was done.";
            refused(&Problem::new(
                404,
                "order_not_found",
                "No such order",
                detail,
            ))
        }
        Moved::Illegal(illegal) => {
            let detail = format!("An order cannot go this way: {illegal}.");
            refused(&Problem::new(409, "move_illegal", "Not from here", detail))
        }
    }
}

#[derive(Deserialize)]
struct Join {
    user: String,
}

async fn join<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(activity): Path<String>,
    signed: Signed,
    body: Bytes,
) -> Result<Reply, Reply> {
    once!(context, signed, |connection, _key| {
        let Join { user } = match read(&body) {
            Ok(join) => join,
            Err(effect) => return Ok(effect),
        };
        let (activity, user) = match (id("activity", &activity), id("user", &user)) {
            (Ok(activity), Ok(user)) => (activity, user),
            (Err(effect), _) | (_, Err(effect)) => return Ok(effect),
        };
        let is_new = sums::join::<DB>(connection, activity, user).await?;
        let (status, said) = match is_new {
            true => (201, "joined"),
            false => (200, "already joined"),
        };
        Ok(executed(
            status,
            &json!({ "activity": activity.as_str(), "outcome": said }),
        ))
    })
}

#[derive(Deserialize)]
struct Points {
    user: String,
    amount: i32,
}

async fn points<DB: Dialect>(
    State(context): State<Context<DB>>,
    signed: Signed,
    body: Bytes,
) -> Result<Reply, Reply> {
    once!(context, signed, |connection, key| {
        let Points { user, amount } = match read(&body) {
            Ok(points) => points,
            Err(effect) => return Ok(effect),
        };
        let account = match id("user", &user) {
            Ok(account) => account,
            Err(effect) => return Ok(effect),
        };
        let operation = Id::from(&key);
        let changed = sums::change_points::<DB>(connection, operation, account, amount).await?;
        Ok(match changed {
            Changed::Now | Changed::Before => executed(200, &json!({ "user": user })),
            Changed::TooLittle => {
                let detail = "The account has fewer points than that. Nothing was done.";
                refused(&Problem::new(
                    409,
                    "points_missing",
                    "Too few points",
                    detail,
                ))
            }
        })
    })
}

#[derive(Deserialize)]
struct Quantity {
    quantity: i32,
}

async fn stock<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(sku): Path<String>,
    signed: Signed,
    body: Bytes,
) -> Result<Reply, Reply> {
    once!(context, signed, |connection, key| {
        let Quantity { quantity } = match read(&body) {
            Ok(quantity) => quantity,
            Err(effect) => return Ok(effect),
        };
        let article = match id("sku", &sku) {
            Ok(article) => article,
            Err(effect) => return Ok(effect),
        };
        if sql::shop::stock::<DB>(connection, &sku).await?.is_none() {
            let detail = "There is no such article. Nothing was done.";
            return Ok(refused(&Problem::new(
                404,
                "sku_not_found",
                "No such article",
                detail,
            )));
        }
        let operation = Id::from(&key);
        let moved = sums::move_stock::<DB>(connection, operation, article, quantity).await?;
        Ok(match moved {
            Changed::Now | Changed::Before => executed(200, &json!({ "sku": sku })),
            Changed::TooLittle => {
                let detail = "There are fewer on the shelf. Nothing was done.";
                refused(&Problem::new(
                    409,
                    "out_of_stock",
                    "Not enough in stock",
                    detail,
                ))
            }
        })
    })
}

#[derive(Deserialize)]
struct Delivery {
    id: String,
    topic: String,
    payload: Value,
}

/// A message that comes over HTTP instead of a broker. Its id is what it is dropped by, whatever the key.
pub(super) async fn message<DB: Dialect>(
    State(context): State<Context<DB>>,
    signed: Signed,
    body: Bytes,
) -> Result<Reply, Reply> {
    once!(context, signed, |connection, _key| {
        let Delivery { id, topic, payload } = match read(&body) {
            Ok(delivery) => delivery,
            Err(effect) => return Ok(effect),
        };
        let message = Message {
            id,
            aggregate: String::new(),
            topic,
            payload: payload.to_string(),
            attempt: 1,
        };
        let task = match Task::parse(&message) {
            Ok(task) => task,
            Err(error) => return Ok(refused(&unreadable_message(&error))),
        };
        let said = match effects::receive_within::<DB>(connection, &task).await? {
            Consumed::Now => "now",
            Consumed::Before => "before",
        };
        Ok(executed(200, &json!({ "consumed": said })))
    })
}

/// Runs the settlement.
async fn settle<DB: Dialect>(
    State(context): State<Context<DB>>,
    signed: Signed,
) -> Result<Reply, Reply> {
    let call = signed.attempt()?;
    let (database, ledger) = (context.database, context.gate.ledger().clone());
    let settings = context.settlement;
    let work = context
        .gate
        .tasks()
        .spawn(async move { settlement::settle(&database, &ledger, &call, settings).await });
    match work
        .await
        .unwrap_or_else(|error| Err(Failure::Unknown(error.into())))
    {
        Ok(verdict) => Ok(verdict.into()),
        Err(Failure::Unknown(error)) if error.is::<settlement::Busy>() => Err(busy()),
        Err(failure) => Err(failure.into()),
    }
}

/// It has no outcome: an earlier attempt may have settled rows.
fn busy() -> Reply {
    let detail = "Another run is at work, and settles everything that is open. Send the same request again later.";
    Reply::from(Problem::new(409, "job_busy", "Busy", detail)).with_retry_after(5)
}

/// A name, or the refusal of it: judged after the key was looked up (L2), like the body.
fn id<'t>(field: &'static str, text: &'t str) -> Result<Id<'t>, Effect> {
    Id::parse(text).map_err(|error| refused(&bad_field(field, &error)))
}

pub(super) fn bad_field(field: &'static str, error: &BadId) -> Problem {
    let detail = format!("The field {field} is not taken: {error}. Nothing was done.");
    Problem::new(422, "field_invalid", "This field is not taken", detail).in_field(field)
}

fn unreadable_message(error: &Unreadable) -> Problem {
    let detail = format!("Nobody can work it off: {error}. Nothing was done.");
    Problem::new(
        422,
        "message_invalid",
        "This message makes no sense",
        detail,
    )
}

/// The body, or the refusal of it: judged after the key was looked up (L2).
fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Effect> {
    serde_json::from_slice(body).map_err(|error| refused(&malformed(&error)))
}

/// What is wrong with a body, without a word of it: the answer is stored, and a card may stand in the wrong place.
pub(super) fn malformed(error: &serde_json::Error) -> Problem {
    let what = match error.classify() {
        Category::Data => "a field is missing, or holds something else, or more, than it should",
        Category::Eof | Category::Io | Category::Syntax => "it is no JSON",
    };
    let (line, column) = (error.line(), error.column());
    let detail = format!(
        "The body is not what this endpoint takes: {what} (line {line}, column {column}). Nothing was done."
    );
    Problem::new(422, "body_invalid", "This body makes no sense", detail)
}

fn executed(status: u16, body: &Value) -> Effect {
    Effect::Executed(Answer {
        status,
        headers: vec![("content-type".into(), "application/json".into())],
        body: body.to_string().into_bytes(),
    })
}

fn refused(problem: &Problem) -> Effect {
    Effect::Refused(problem.to_answer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_in_the_wrong_place_is_not_repeated_in_the_answer() {
        let body = br#"{"card": 4111111111111111}"#;
        let error = serde_json::from_slice::<std::collections::BTreeMap<String, String>>(body);
        let answer = malformed(&error.unwrap_err()).to_answer();
        let text = String::from_utf8(answer.body).unwrap();
        assert!(!text.contains("4111"), "{text}");
        assert!(text.contains("line 1, column"), "{text}");
    }
}
