//! What only the shop's own people see: books, counts, accounts, every order.
//!
//! **Invariant: an endpoint for which no secret is configured does not exist**, as at the gate. Whoever asks presents one
//! of the admin secrets, `Authorization: Bearer …`. They are compared in constant time and never shown.

use axum::extract::{FromRequestParts, Path, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::{Context, unreadable};
use crate::books;
use crate::gate::Reply;
use crate::metrics;
use crate::problem::Problem;
use crate::shop::gauges;
use crate::sql::{self, Dialect};

/// The routes.
pub(super) fn routes<DB: Dialect>() -> Router<Context<DB>> {
    Router::new()
        .route("/books", get(check::<DB>))
        .route("/metrics", get(show_metrics::<DB>))
        .route("/points/{user}", get(account::<DB>))
}

/// Somebody who presented an admin secret.
pub(super) struct Admin;

impl<DB: Dialect> FromRequestParts<Context<DB>> for Admin {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, context: &Context<DB>) -> Result<Self, Reply> {
        let Some(secrets) = &context.admin_secrets else {
            return Err(super::not_found().await);
        };
        let value = parts.headers.get(AUTHORIZATION);
        let presented = value
            .and_then(|value| value.to_str().ok()?.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .and_then(|(_, secret)| secrets.presented(secret.trim()));
        presented.map(|_| Self).ok_or_else(unauthorized)
    }
}

fn unauthorized() -> Reply {
    let detail = "Send one of the admin secrets: Authorization: Bearer <secret>.";
    Problem::new(401, "unauthorized", "This is not for everybody", detail).into()
}

async fn check<DB: Dialect>(
    State(context): State<Context<DB>>,
    _: Admin,
) -> Result<Json<Value>, Reply> {
    let findings = books::check(&context.database).await?;
    let balance = findings.balance();
    Ok(Json(
        json!({ "balance": balance, "findings": findings.list() }),
    ))
}

async fn show_metrics<DB: Dialect>(
    State(context): State<Context<DB>>,
    _: Admin,
) -> Result<impl IntoResponse, Reply> {
    let gauges = gauges::text(&context.database).await.map_err(unreadable)?;
    let kind = "text/plain; version=0.0.4";
    Ok(([(CONTENT_TYPE, kind)], metrics::text() + &gauges))
}

async fn account<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(user): Path<String>,
    _: Admin,
) -> Result<Json<Value>, Reply> {
    let points = sql::shop::points::<DB>(&context.database, &user).await;
    let points = points.map_err(unreadable)?;
    Ok(Json(json!({ "user": user, "points": points })))
}
