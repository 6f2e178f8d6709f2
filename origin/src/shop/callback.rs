//! The payment provider calls back: twice, three times, five times.
//!
//! **Invariant: one payment number is taken note of once, and pays at most one order, which is paid
//! by at most one payment.** Two layers, in one transaction: the payment number is the primary key of
//! `callbacks` and is inserted first; then the order's status is compared and set. Money that no order
//! waits for is written down as surplus, and a person is told: it has to be given back.
//!
//! The sender speaks its own words: `success` ends its repetitions, anything else does not.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use oncegate_core::lifecycle::{OrderStatus, Outcome};
use serde::Deserialize;
use sha2::Sha256;

use super::moves::move_order;
use crate::clock::now_ms;
use crate::id::Id;
use crate::ledger::Failure;
use crate::log;
use crate::metrics::{self, Event};
use crate::sql::work::{FirstInsert, atomically, first_insert, is_first};
use crate::sql::{self, Database, Dialect, Statements};

const PAYMENT: FirstInsert = first_insert!(
    "callbacks",
    "pay_no, order_id, amount_cents, outcome, created_at",
    "?, ?, ?, 'settled', ?",
    "pay_no"
);

/// What the provider says, as a form.
#[derive(Clone, Debug, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "the fields of the form")]
pub struct Callback {
    /// The provider's number of the payment.
    pub pay_no: String,
    /// The order that it is for.
    pub order_no: String,
    /// What was paid.
    pub amount_cents: i64,
    /// HMAC-SHA-256 over the other three, in hexadecimal.
    pub sign: String,
}

/// The secret that the provider signs with. It is never shown.
#[derive(Clone)]
pub struct CallbackSecret(Vec<u8>);

impl fmt::Debug for CallbackSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallbackSecret(…)")
    }
}

/// What is answered, in the sender's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the sender knows two words")]
pub enum Word {
    /// Do not send this again.
    Success,
    /// Send it again, or look into it.
    Fail,
}

/// What a payment came to.
pub(crate) enum Heard {
    /// It was taken note of before.
    Before,
    /// Nothing that this shop could have asked for.
    Foreign(&'static str),
    /// It is not the provider's.
    Forged,
    /// There is no such order, or not yet.
    NoOrder,
    /// It moved its order.
    Paid,
    /// No order waits for it.
    Surplus,
}

impl CallbackSecret {
    /// A secret of 16 bytes at least.
    ///
    /// # Errors
    ///
    /// It is shorter.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.len() {
            16.. => Ok(Self(text.as_bytes().to_vec())),
            length => Err(format!("it has {length} characters and needs 16 or more")),
        }
    }

    /// What a provider writes into `sign`.
    pub fn sign(&self, pay_no: &str, order_no: &str, amount_cents: i64) -> String {
        self.sign_text(&text(pay_no, order_no, amount_cents))
    }

    /// What a provider signs a whole text with.
    pub(crate) fn sign_text(&self, text: &str) -> String {
        let bytes = self.mac(text).finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn verify(&self, callback: &Callback) -> bool {
        let Callback {
            pay_no, order_no, ..
        } = callback;
        let digits = callback.sign.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let claimed: Option<Vec<u8>> = digits.map(byte).collect();
        let mac = self.mac(&text(pay_no, order_no, callback.amount_cents));
        // With a line break in a value, two callbacks would have one text.
        let is_plain = !pay_no.contains('\n') && !order_no.contains('\n');
        // In constant time.
        is_plain && claimed.is_some_and(|claimed| mac.verify_slice(&claimed).is_ok())
    }

    fn mac(&self, text: &str) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut mac = mac.expect("HMAC takes a secret of any length");
        mac.update(text.as_bytes());
        mac
    }
}

fn text(pay_no: &str, order_no: &str, amount_cents: i64) -> String {
    format!("{pay_no}\n{order_no}\n{amount_cents}")
}

/// Takes note of a payment, and moves its order.
///
/// # Errors
///
/// The database failed, and nothing was done. The sender has to hear [`Word::Fail`].
pub async fn take<DB: Dialect>(
    database: &Database<DB>,
    secret: &CallbackSecret,
    callback: &Callback,
) -> Result<Word, Failure> {
    let heard = atomically!(database, |connection| {
        Ok(judge::<DB>(connection, secret, callback).await?)
    })?;
    heard.report(callback);
    Ok(match heard {
        Heard::Before | Heard::Paid | Heard::Surplus => Word::Success,
        Heard::Foreign(_) | Heard::Forged | Heard::NoOrder => Word::Fail,
    })
}

/// Takes note of a payment if it is the provider's, in the transaction of the connection.
pub(crate) async fn judge<DB: Dialect>(
    connection: &mut DB::Connection,
    secret: &CallbackSecret,
    callback: &Callback,
) -> Result<Heard, sqlx::Error> {
    metrics::count(Event::Callback);
    match secret.verify(callback) {
        true => hear::<DB>(connection, callback).await,
        false => Ok(Heard::Forged),
    }
}

impl Heard {
    /// Tells a person what one has to know. To be called when it is committed, and once.
    pub(crate) fn report(&self, callback: &Callback) {
        let Callback {
            pay_no, order_no, ..
        } = callback;
        match self {
            Self::Before | Self::Paid => {}
            Self::Surplus => {
                metrics::count(Event::Surplus);
                let what =
                    format!("{pay_no} paid {order_no}, which waits for no payment: give it back");
                log::alarm("surplus_payment", &what);
            }
            Self::Forged => log::alarm("callback", self.why()),
            Self::Foreign(_) | Self::NoOrder => {
                let why = self.why();
                log::alarm("callback", &format!("{pay_no} for {order_no}: {why}"));
            }
        }
    }

    /// What is wrong with it; nothing if nothing is.
    pub(crate) fn why(&self) -> &'static str {
        match self {
            Self::Before | Self::Paid | Self::Surplus => "",
            Self::Foreign(why) => why,
            Self::Forged => "a callback that is not the provider's",
            Self::NoOrder => "there is no such order",
        }
    }
}

/// Takes note of a payment that is certainly the provider's, in the transaction of the connection.
pub(crate) async fn hear<DB: Dialect>(
    connection: &mut DB::Connection,
    callback: &Callback,
) -> Result<Heard, sqlx::Error> {
    let (pay_no, id) = (Id::parse(&callback.pay_no), Id::parse(&callback.order_no));
    let (Ok(pay_no), Ok(id)) = (pay_no, id) else {
        return Ok(Heard::Foreign("its numbers are longer than any of ours"));
    };
    let id = id.as_str();
    match sql::shop::lock_total::<DB>(connection, id).await? {
        None => return Ok(Heard::NoOrder),
        Some(total) if total != callback.amount_cents => {
            return Ok(Heard::Foreign("the order costs something else"));
        }
        Some(_) => {}
    }
    let now = now_ms().cast_signed();
    let amount = callback.amount_cents;
    let values = [pay_no.into(), id.into(), amount.into(), now.into()];
    if !is_first::<DB>(connection, PAYMENT, &values).await? {
        return same_payment::<DB>(connection, callback).await;
    }
    let (expected, target) = (OrderStatus::WaitPay, OrderStatus::Paid);
    if move_order::<DB>(connection, id, expected, target).await? == Outcome::Applied {
        return Ok(Heard::Paid);
    }
    let sql = "UPDATE callbacks SET outcome = 'surplus' WHERE pay_no = ?";
    connection.run(sql, &[pay_no.into()]).await?;
    Ok(Heard::Surplus)
}

/// A repetition says what the first one said.
async fn same_payment<DB: Dialect>(
    connection: &mut DB::Connection,
    callback: &Callback,
) -> Result<Heard, sqlx::Error> {
    let sql = "SELECT order_id, amount_cents FROM callbacks WHERE pay_no = ?";
    let row = connection.first(sql, &[(&callback.pay_no).into()]).await?;
    let row = row.ok_or(sqlx::Error::RowNotFound)?;
    let (order, amount): (String, i64) = (row.get("order_id")?, row.get("amount_cents")?);
    Ok(
        match (order, amount) == (callback.order_no.clone(), callback.amount_cents) {
            true => Heard::Before,
            false => Heard::Foreign("its number was used for another payment"),
        },
    )
}

impl Word {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Fail => "fail",
        }
    }
}
