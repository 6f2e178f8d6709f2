//! What the shop does about its messages: the receiver of the outbox.
//!
//! **Invariant: the work of a message is done once, however often it is delivered**
//! ([`crate::consumer`]). The rows that it writes have ids of their own on top, so that they hold even
//! when the consumer's record is long forgotten.

use std::fmt::Display;

use serde::Deserialize;

use crate::clock::now_ms;
use crate::consumer::{self, Consumed};
use crate::ledger::Failure;
use crate::log;
use crate::metrics::{self, Event};
use crate::outbox::{Message, Receiver};
use crate::shop::moves;
use crate::sql::work::{FirstInsert, atomically, first_insert, is_first};
use crate::sql::{self, Database, Dialect};
use crate::sums::{Changed, move_stock, moved};

const COUPON: FirstInsert = first_insert!("coupons", "order_id, created_at", "?, ?", "order_id");
const NOTICE: FirstInsert = first_insert!(
    "notices",
    "id, order_id, words, created_at",
    "?, ?, ?, ?",
    "id"
);

#[derive(Deserialize)]
struct Payload {
    order: String,
    status: String,
}

/// Delivers to this shop itself, without a broker in between.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a database and nothing else")]
pub struct Here<DB: Dialect>(pub Database<DB>);

impl<DB: Dialect> Receiver for Here<DB> {
    async fn deliver(&self, message: &Message) -> Result<(), Box<dyn Display + Send + Sync>> {
        match receive(&self.0, message).await {
            Ok(_) => Ok(()),
            Err(failure) => Err(Box::new(failure)),
        }
    }
}

/// Does the work of a message, unless it was done.
///
/// # Errors
///
/// The message makes no sense, or its work failed and left nothing: it has to be delivered again.
pub async fn receive<DB: Dialect>(
    database: &Database<DB>,
    message: &Message,
) -> Result<Consumed, Failure> {
    let consumed = atomically!(database, |connection| {
        receive_within::<DB>(connection, message).await
    })?;
    metrics::count(match consumed {
        Consumed::Now => Event::Consumed,
        Consumed::Before => Event::Dropped,
    });
    Ok(consumed)
}

/// Does the work of a message, unless it was done, in the transaction of the connection.
///
/// # Errors
///
/// As [`receive`]; the transaction has to be rolled back.
pub(crate) async fn receive_within<DB: Dialect>(
    connection: &mut DB::Connection,
    message: &Message,
) -> Result<Consumed, Failure> {
    let payload: Payload = serde_json::from_str(&message.payload)
        .map_err(|error| Failure::NotExecuted(error.into()))?;
    if !consumer::is_new::<DB>(connection, &message.topic, &message.id).await? {
        return Ok(Consumed::Before);
    }
    work::<DB>(connection, message, &payload).await?;
    Ok(Consumed::Now)
}

async fn work<DB: Dialect>(
    connection: &mut DB::Connection,
    message: &Message,
    payload: &Payload,
) -> Result<(), Failure> {
    let now = now_ms().cast_signed();
    let Payload { order, status } = payload;
    match message.topic.as_str() {
        "stock" => take_lines::<DB>(connection, message, order).await?,
        "return" => put_lines_back::<DB>(connection, message, order).await?,
        "coupon" => {
            is_first::<DB>(connection, COUPON, &[order.into(), now.into()]).await?;
        }
        "notice" => {
            let values = [
                (&message.id).into(),
                order.into(),
                status.into(),
                now.into(),
            ];
            is_first::<DB>(connection, NOTICE, &values).await?;
        }
        other => {
            let error = format!("nobody here knows the topic {other}");
            return Err(Failure::NotExecuted(error.into()));
        }
    }
    Ok(())
}

/// In one order for all, so that two orders cannot each hold what the other one waits for.
async fn take_lines<DB: Dialect>(
    connection: &mut DB::Connection,
    message: &Message,
    order: &str,
) -> Result<(), sqlx::Error> {
    for line in sql::shop::lines_by_sku::<DB>(connection, order).await? {
        let operation = format!("{}/{}", message.id, line.number);
        let moved = move_stock::<DB>(connection, &operation, &line.sku, line.quantity).await?;
        if moved == Changed::TooLittle {
            log::alarm(
                "stock",
                &format!("{order} is paid, and {} is missing", line.sku),
            );
        }
    }
    Ok(())
}

/// Puts back what left the shelf: for an order that was paid later, what its own message took, which is
/// nothing where goods were missing; for one that was paid at once, what its lines say.
async fn put_lines_back<DB: Dialect>(
    connection: &mut DB::Connection,
    message: &Message,
    order: &str,
) -> Result<(), sqlx::Error> {
    let taking = moves::stock_message(order);
    for line in sql::shop::lines_by_sku::<DB>(connection, order).await? {
        let taken = format!("{taking}/{}", line.number);
        let taken = moved::<DB>(connection, &taken).await?;
        let quantity = taken.unwrap_or(line.quantity);
        let operation = format!("{}/{}", message.id, line.number);
        move_stock::<DB>(connection, &operation, &line.sku, -quantity).await?;
    }
    Ok(())
}
