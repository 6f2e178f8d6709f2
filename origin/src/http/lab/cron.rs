//! The settlement: a slot that somebody wants run again, and what the rows have of one.

use axum::Json;
use axum::extract::{Path, Query, State};
use oncegate_client::{Again, Ran};
use oncegate_core::cron::Slot;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{door, failed};
use crate::clock::now_ms;
use crate::gate::Reply;
use crate::http::{Context, unreadable};
use crate::lab::Door;
use crate::problem::Problem;
use crate::sql::{self, Dialect};

/// The job, as the gate knows it.
const JOB: &str = "settle";

#[derive(Deserialize)]
pub(super) struct Wanted {
    slot: String,
    name: String,
}

#[derive(Deserialize)]
pub(super) struct Since {
    since_ms: Option<u64>,
}

/// Has the gate run the slot once more, under a name.
pub(super) async fn run_again<DB: Dialect>(
    State(context): State<Context<DB>>,
    Json(wanted): Json<Wanted>,
) -> Result<Json<Ran>, Reply> {
    let door = door(&context.lab.admin, "--gate-admin-secret")?;
    let again = Again {
        slot: &wanted.slot,
        name: &wanted.name,
        actor: "a visitor",
        reason: "a button on the page of scenarios",
    };
    let ran = ask(door, again)
        .await
        .map_err(|error| failed(&error.into()))?;
    Ok(Json(ran))
}

async fn ask(door: &Door, again: Again<'_>) -> Result<Ran, oncegate_client::Error> {
    door.client()?.run_again(JOB, again).await
}

/// What the ledger has of a slot, and how many settlements have begun since.
pub(super) async fn runs<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(slot): Path<String>,
    Query(since): Query<Since>,
) -> Result<Json<Value>, Reply> {
    let slot = Slot::parse(&slot).ok_or_else(no_slot)?;
    let key = format!("cron:{JOB}:{slot}");
    let now_ms = now_ms();
    let runs = sql::lab::slot_runs(&context.database, &key).await;
    let begun =
        sql::lab::settlements_since(&context.database, since.since_ms.unwrap_or(now_ms)).await;
    Ok(Json(json!({
        "runs": runs.map_err(unreadable)?,
        "settlements": begun.map_err(unreadable)?,
        "now_ms": now_ms,
    })))
}

fn no_slot() -> Reply {
    let detail = "A slot is a minute in UTC, such as 2026-12-01T03:00Z.";
    Problem::new(422, "slot_invalid", "No slot", detail).into()
}
