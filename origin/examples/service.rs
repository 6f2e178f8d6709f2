//! A service that existed already, made a ledger origin: everything that concerns the gate is in five
//! lines of `main` and in the handler's `once`.
//!
//! ```sh
//! DATABASE_URL=postgres://… ONCEGATE_SIGNING_SECRETS=name=secret cargo run --example service
//! ```

use std::env;
use std::error::Error;

use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use oncegate_core::signature::Secrets;
use oncegate_origin::gate::{Gate, Once};
use oncegate_origin::ledger::{Answer, Effect, Ledger};
use oncegate_origin::sql::Database;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool, Postgres};

#[derive(Clone, Deserialize, Serialize)]
struct Payment {
    order_no: String,
    cents: i64,
}

/// The transaction is the ledger's: what is done in it is committed together with the key's row.
async fn pay(once: Once<Postgres>, Json(payment): Json<Payment>) -> Response {
    once.run(async move |transaction: &mut PgConnection| {
        if payment.cents > 100_000 {
            let too_much = "Payments above 1,000 are not taken.";
            return Ok(Effect::Refused(Answer::json(402, &too_much)?));
        }
        sqlx::query("INSERT INTO payments (order_no, cents) VALUES ($1, $2)")
            .bind(&payment.order_no)
            .bind(payment.cents)
            .execute(&mut *transaction)
            .await?;
        Ok(Effect::Executed(Answer::json(201, &payment)?))
    })
    .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let pool = PgPool::connect(&env::var("DATABASE_URL")?).await?;
    let routes = Router::new().route("/payments", post(pay));

    let secrets = Secrets::parse(&env::var("ONCEGATE_SIGNING_SECRETS")?)
        .map_err(|error| error.to_string())?;
    let database = Database::from(pool);
    database.migrate().await?;
    let gate = Gate::new(Ledger::new(database), secrets);
    let app = gate.protect(routes).route("/health", get(async || "ok"));

    let listener = tokio::net::TcpListener::bind("127.0.0.1:9000").await?;
    axum::serve(listener, app).await?;
    // Those whose callers have left end as well.
    gate.tasks().close();
    gate.tasks().wait().await;
    Ok(())
}
