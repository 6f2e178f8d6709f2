//! An order as a plain form sends it: for a page without scripts of its own, and for tokens.

use axum::Form;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use serde::Deserialize;
use serde_json::json;

use crate::faults::Fault;
use crate::gate::{Reply, Signed};
use crate::http::{Context, body_problem, place_once};
use crate::sql::Dialect;

/// What the form says. It is paid with a card that always pays: the shop keeps none.
#[derive(Deserialize)]
pub(super) struct Wanted {
    sku: String,
    #[serde(default = "one")]
    quantity: i64,
    email: String,
}

fn one() -> i64 {
    1
}

/// Places the order, once. A form that makes no sense becomes a body that makes none, so that it is refused like one: after the
/// key was looked up (L2). One that did not come whole is no body at all, and nothing is kept of it (L8).
pub(super) async fn place_by_form<DB: Dialect>(
    State(context): State<Context<DB>>,
    signed: Signed,
    form: Result<Form<Wanted>, FormRejection>,
) -> Result<Reply, Reply> {
    let body = match form {
        Ok(Form(wanted)) => order(&wanted),
        Err(FormRejection::BytesRejection(cut)) => {
            return Err(Reply::did_nothing(body_problem(&cut)));
        }
        Err(_) => Bytes::new(),
    };
    place_once(context, signed, body, Fault::None).await
}

fn order(wanted: &Wanted) -> Bytes {
    let Wanted {
        sku,
        quantity,
        email,
    } = wanted;
    let card = json!({ "number": "4242 4242 4242 4242", "expiry": "12/30", "cvc": "123" });
    let cart = [json!({ "sku": sku, "quantity": quantity })];
    json!({ "cart": cart, "card": card, "email": email })
        .to_string()
        .into()
}
