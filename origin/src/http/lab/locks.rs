//! Two who take stock of one shelf.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{door, failed, run};
use crate::gate::Reply;
use crate::http::{Context, unreadable};
use crate::lab::stocktaking::{self, Guard};
use crate::sql::{self, Dialect};

#[derive(Deserialize)]
pub(super) struct Wanted {
    run: String,
    guard: Guard,
}

/// Lets them, and says what each of them did.
pub(super) async fn take_stock<DB: Dialect>(
    State(context): State<Context<DB>>,
    Json(wanted): Json<Wanted>,
) -> Result<Json<Value>, Reply> {
    let door = door(&context.lab.locks, "--locks-secret")?;
    let run = run(&wanted.run)?;
    let taken = stocktaking::take_stock(&context.database, door, run, wanted.guard).await;
    let taken = taken.map_err(|error| failed(&error))?;
    Ok(Json(json!({ "takers": taken })))
}

/// What stands in the rows.
pub(super) async fn corrections<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Reply> {
    let found = sql::lab::corrections(&context.database, run(&name)?).await;
    Ok(Json(
        json!({ "corrections": found.map_err(unreadable)?, "missing": stocktaking::MISSING }),
    ))
}
