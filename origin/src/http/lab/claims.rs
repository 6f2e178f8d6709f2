//! A message that is delivered five times.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{door, failed, run};
use crate::gate::Reply;
use crate::http::{Context, unreadable};
use crate::lab::consumers::{self, How};
use crate::sql::{self, Dialect};

#[derive(Deserialize)]
pub(super) struct Wanted {
    run: String,
    how: How,
}

/// Delivers it, and says what each of the workers heard and did.
pub(super) async fn deliver<DB: Dialect>(
    State(context): State<Context<DB>>,
    Json(wanted): Json<Wanted>,
) -> Result<Json<Value>, Reply> {
    let door = door(&context.lab.claims, "--claims-secret")?;
    let run = run(&wanted.run)?;
    let worked = consumers::deliver(&context.database, door, run, wanted.how).await;
    let worked = worked.map_err(|error| failed(&error))?;
    Ok(Json(json!({ "workers": worked })))
}

/// What customers were told, by the rows.
pub(super) async fn notices<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Reply> {
    let found = sql::lab::notices(&context.database, run(&name)?).await;
    Ok(Json(json!({ "notices": found.map_err(unreadable)? })))
}
