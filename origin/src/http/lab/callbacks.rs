//! The payment provider's part: what it would send, signed as it signs, and what became of it in the rows.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gate::Reply;
use crate::http::{Context, not_found, unreadable};
use crate::shop::callback::CallbackSecret;
use crate::sql::{self, Dialect};

/// An event about the payment of an order. Only the shop knows what it costs.
#[derive(Deserialize)]
pub(super) struct Wanted {
    event: String,
    pay_no: String,
    order_no: String,
}

/// The request that the provider would send about it.
pub(super) async fn sign<DB: Dialect>(
    State(context): State<Context<DB>>,
    Json(wanted): Json<Wanted>,
) -> Result<Json<Value>, Reply> {
    let order = sql::shop::order(&context.database, &wanted.order_no).await;
    let order = order.map_err(unreadable)?;
    match (&context.callback_secret, order) {
        (Some(secret), Some(order)) => Ok(Json(signed(secret, &wanted, order.total_cents))),
        _ => Err(not_found().await),
    }
}

/// The form has a signature in it, which the shop verifies, and the whole of it one in the header, which the gate does.
fn signed(secret: &CallbackSecret, wanted: &Wanted, amount_cents: i64) -> Value {
    let Wanted {
        event,
        pay_no,
        order_no,
    } = wanted;
    let sign = secret.sign(pay_no, order_no, amount_cents);
    let body =
        format!("pay_no={pay_no}&order_no={order_no}&amount_cents={amount_cents}&sign={sign}");
    let headers = json!({
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Provider-Event": event,
        "X-Provider-Signature": secret.sign_text(&format!("{event}.{body}")),
    });
    json!({ "path": "/callbacks/payment", "headers": headers, "body": body })
}

/// What the rows say of an order's payments.
pub(super) async fn show<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(order): Path<String>,
) -> Result<Json<Value>, Reply> {
    let heard = sql::lab::callbacks(&context.database, &order).await;
    let owed = sql::lab::owed(&context.database, &order).await;
    let (heard, owed) = (heard.map_err(unreadable)?, owed.map_err(unreadable)?);
    Ok(Json(json!({ "payments": heard, "owed": owed })))
}
