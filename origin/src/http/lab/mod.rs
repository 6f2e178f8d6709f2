//! The back room: what the page of scenarios (`www/family.html`) needs to play its parts, and to read what became of them.
//!
//! **Invariant: none of this exists without `--faults`.** It plays the senders that the shop knows, shows rows to everybody, and
//! changes nothing that the shop itself would not.

mod callbacks;
mod claims;
mod cron;
mod locks;
mod naive;
mod orders;
mod records;

use axum::Router;
use axum::routing::{get, post};

use super::Context;
use crate::commands::Trouble;
use crate::gate::Reply;
use crate::lab::Door;
use crate::problem::Problem;
use crate::sql::Dialect;

/// The routes.
pub(super) fn routes<DB: Dialect>() -> Router<Context<DB>> {
    Router::new()
        .merge(naive::routes())
        .route("/lab/callbacks", post(callbacks::sign::<DB>))
        .route("/lab/callbacks/{order}", get(callbacks::show::<DB>))
        .route("/lab/claims", post(claims::deliver::<DB>))
        .route("/lab/cron", post(cron::run_again::<DB>))
        .route("/lab/locks", post(locks::take_stock::<DB>))
        .route("/lab/orders", post(orders::place_by_form::<DB>))
        .route("/lab/corrections/{run}", get(locks::corrections::<DB>))
        .route("/lab/notices/{run}", get(claims::notices::<DB>))
        .route("/lab/records/{kind}/{run}", get(records::show::<DB>))
        .route("/lab/slots/{slot}", get(cron::runs::<DB>))
}

/// The way to the gate, if this shop was given one.
fn door<'a>(door: &'a Option<Door>, flag: &str) -> Result<&'a Door, Reply> {
    door.as_ref().ok_or_else(|| {
        let detail = format!(
            "This shop was not told where the gate is, and a secret of it: start it with --gate and {flag}."
        );
        Problem::new(503, "gate_not_known", "No way to the gate", detail).into()
    })
}

/// A name that a page made for what it does.
fn run(name: &str) -> Result<&str, Reply> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match (1..=64).contains(&name.len()) && name.bytes().all(is_plain) {
        true => Ok(name),
        false => {
            let detail = "A run has 1 to 64 letters, digits and hyphens.";
            Err(Problem::new(422, "run_invalid", "No name of a run", detail).into())
        }
    }
}

/// What went wrong, to whoever asked: nobody is served here who must not know.
fn failed(error: &Trouble) -> Reply {
    Problem::new(
        502,
        "lab_failed",
        "It could not be shown",
        error.to_string(),
    )
    .into()
}
