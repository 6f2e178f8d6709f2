//! What the shop does about its messages: the receiver of the outbox.
//!
//! **Invariant: the work of a message is done once, however often it is delivered**
//! ([`crate::consumer`]). The rows that it writes have ids of their own on top, so that they hold even
//! when the consumer's record is long forgotten.

use std::error::Error;
use std::fmt::{self, Display};

use serde::Deserialize;

use crate::clock::now_ms;
use crate::consumer::{self, Consumed};
use crate::id::Id;
use crate::ledger::Failure;
use crate::log;
use crate::outbox::{MOST_ID, Message, Receiver};
use crate::shop::moves;
use crate::sql::shop::Line;
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

/// What a message asks this shop to do. The parser is the only constructor.
#[derive(Clone, Debug)]
pub struct Task {
    message: String,
    topic: Topic,
    order: String,
    status: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topic {
    Coupon,
    Notice,
    Return,
    Stock,
}

/// Why a message is no task of this shop. Reading it again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(String);

#[derive(Deserialize)]
struct Payload {
    order: String,
    status: String,
}

impl Task {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// Its id or its topic is none of this shop's, or its payload makes no sense.
    pub fn parse(message: &Message) -> Result<Self, Unreadable> {
        let blame = |part: &str, what: &dyn Display| Unreadable(format!("its {part}: {what}"));
        let name = |part: &str, text: &str, most| {
            let name = Id::parse_up_to(text, most).map_err(|error| blame(part, &error));
            name.map(|name| name.as_str().to_owned())
        };
        let payload: Payload =
            serde_json::from_str(&message.payload).map_err(|error| blame("payload", &error))?;
        let unknown = || blame("topic", &"nobody here knows it");
        Ok(Self {
            message: name("id", &message.id, MOST_ID)?,
            topic: Topic::parse(&message.topic).ok_or_else(unknown)?,
            order: name("payload's order", &payload.order, Id::MOST)?,
            status: name("payload's status", &payload.status, Id::MOST)?,
        })
    }
}

impl Topic {
    fn parse(topic: &str) -> Option<Self> {
        let all = [Self::Coupon, Self::Notice, Self::Return, Self::Stock];
        all.into_iter().find(|known| known.name().as_str() == topic)
    }

    /// The topic is the consumer: each does its own work.
    fn name(self) -> Id<'static> {
        Id::literal(match self {
            Self::Coupon => "coupon",
            Self::Notice => "notice",
            Self::Return => "return",
            Self::Stock => "stock",
        })
    }
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(why) = self;
        write!(f, "the message cannot be read, {why}")
    }
}

impl Error for Unreadable {}

/// Delivers to this shop itself, without a broker in between.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a database and nothing else")]
pub struct Here<DB: Dialect>(pub Database<DB>);

impl<DB: Dialect> Receiver for Here<DB> {
    async fn deliver(&self, message: &Message) -> Result<(), Box<dyn Display + Send + Sync>> {
        let task = Task::parse(message).map_err(|error| Box::new(error) as _);
        match receive(&self.0, &task?).await {
            Ok(_) => Ok(()),
            Err(failure) => Err(Box::new(failure)),
        }
    }
}

/// Does the work of a message, unless it was done.
///
/// # Errors
///
/// Its work failed and left nothing: it has to be delivered again.
pub async fn receive<DB: Dialect>(
    database: &Database<DB>,
    task: &Task,
) -> Result<Consumed, Failure> {
    let consumed = atomically!(database, |connection| {
        receive_within::<DB>(connection, task).await
    })?;
    consumed.count();
    Ok(consumed)
}

/// Does the work of a message, unless it was done, in the transaction of the connection.
///
/// # Errors
///
/// As [`receive`]; the transaction has to be rolled back.
pub(crate) async fn receive_within<DB: Dialect>(
    connection: &mut DB::Connection,
    task: &Task,
) -> Result<Consumed, Failure> {
    let message = Id::parse(&task.message).map_err(not_executed)?;
    if !consumer::is_new(connection, task.topic.name(), message).await? {
        return Ok(Consumed::Before);
    }
    work::<DB>(connection, task).await?;
    Ok(Consumed::Now)
}

async fn work<DB: Dialect>(connection: &mut DB::Connection, task: &Task) -> Result<(), Failure> {
    let now = now_ms().cast_signed();
    let order = &task.order;
    match task.topic {
        Topic::Stock => take_lines::<DB>(connection, &task.message, order).await?,
        Topic::Return => put_lines_back::<DB>(connection, &task.message, order).await?,
        Topic::Coupon => {
            is_first::<DB>(connection, COUPON, &[order.into(), now.into()]).await?;
        }
        Topic::Notice => {
            let (id, words) = ((&task.message).into(), (&task.status).into());
            let values = [id, order.into(), words, now.into()];
            is_first::<DB>(connection, NOTICE, &values).await?;
        }
    }
    Ok(())
}

/// In one order for all, so that two orders cannot each hold what the other one waits for.
async fn take_lines<DB: Dialect>(
    connection: &mut DB::Connection,
    message: &str,
    order: &str,
) -> Result<(), Failure> {
    for line in sql::shop::lines_by_sku::<DB>(connection, order).await? {
        if move_line::<DB>(connection, message, &line, line.quantity).await? == Changed::TooLittle {
            let what = format!("{order} is paid, and {} is missing", line.sku);
            log::alarm("stock", &what);
        }
    }
    Ok(())
}

/// Puts back what left the shelf: for an order that was paid later, what its own message took, which is
/// nothing where goods were missing; for one that was paid at once, what its lines say.
async fn put_lines_back<DB: Dialect>(
    connection: &mut DB::Connection,
    message: &str,
    order: &str,
) -> Result<(), Failure> {
    let taking = moves::stock_message(order).map_err(not_executed)?;
    for line in sql::shop::lines_by_sku::<DB>(connection, order).await? {
        let taken = format!("{taking}/{}", line.number);
        let taken = moved::<DB>(connection, &taken).await?;
        let quantity = -taken.unwrap_or(line.quantity);
        move_line::<DB>(connection, message, &line, quantity).await?;
    }
    Ok(())
}

/// Moves the goods of one line, once for each message.
async fn move_line<DB: Dialect>(
    connection: &mut DB::Connection,
    message: &str,
    line: &Line,
    quantity: i64,
) -> Result<Changed, Failure> {
    let operation = format!("{message}/{}", line.number);
    let operation = Id::parse(&operation).map_err(not_executed)?;
    let sku = Id::parse(&line.sku).map_err(not_executed)?;
    let quantity = i32::try_from(quantity).map_err(not_executed)?;
    Ok(move_stock::<DB>(connection, operation, sku, quantity).await?)
}

fn not_executed(error: impl Error + Send + Sync + 'static) -> Failure {
    Failure::NotExecuted(error.into())
}
