//! What the gate has on record of a message, which it tells only those who have a secret.

use axum::Json;
use axum::extract::{Path, State};
use oncegate_client::{Error, Record, Whose};

use super::{door, failed, run};
use crate::gate::Reply;
use crate::http::{Context, not_found};
use crate::lab::consumers::{self, SCOPE};
use crate::sql::Dialect;

/// The record of a message that was claimed, or came out of the queue.
pub(super) async fn show<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path((kind, name)): Path<(String, String)>,
) -> Result<Json<Option<Record>>, Reply> {
    let door = door(&context.lab.admin, "--gate-admin-secret")?;
    let message = consumers::message(run(&name)?);
    let (whose, key) = match kind.as_str() {
        "claims" => (Whose::Claims(SCOPE), message),
        // The key and the tenant that the gate makes of a message of the queue `messages`.
        "queue" => (
            Whose::Scope("messages.queue.invalid"),
            format!("queue:messages:{message}"),
        ),
        _ => return Err(not_found().await),
    };
    let asked: Result<_, Error> = async { door.client()?.record(whose, &key).await }.await;
    asked.map(Json).map_err(|error| failed(&error.into()))
}
