//! What the ledger costs, and what it is worth, on the database of a URL. `cargo xtask bench origin` runs it on all three.
//!
//! Invariant: what is compared was measured in turns within one run, and every figure is checked against the rows that are
//! there afterwards.

mod cost;
mod crowd;
mod table;

use std::error::Error;

use clap::Parser;
use oncegate_origin::sql::{Database, Dialect};
use sqlx::Pool;
use sqlx::pool::PoolOptions;

/// Measures the ledger on one database. Its tables `figures_…` and `idempotency_ledger` are emptied first.
#[derive(Parser)]
struct Arguments {
    /// `sqlite:<path>`, `mysql://…` or `postgres://…`
    #[arg(long)]
    database: String,
    /// How often everything is measured in turns; what is reported are medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.database.split(':').next() {
        Some("sqlite") => run::<sqlx::Sqlite>(&arguments).await,
        Some("mysql") => run::<sqlx::MySql>(&arguments).await,
        Some("postgres" | "postgresql") => run::<sqlx::Postgres>(&arguments).await,
        _ => Err("--database begins with sqlite:, mysql:// or postgres://".into()),
    }
}

async fn run<DB: Dialect>(arguments: &Arguments) -> Result<()> {
    Database::<DB>::open(&arguments.database)
        .await?
        .close()
        .await;
    // SQLite has one writer; to wait for the connection is fairer than to wait for its lock.
    let pool: Pool<DB> = PoolOptions::new()
        .max_connections(if arguments.database.starts_with("sqlite:") {
            1
        } else {
            16
        })
        .connect(&arguments.database)
        .await?;
    table::make(&pool).await?;
    cost::inserts(&pool, arguments.rounds).await?;
    cost::payments(&pool, arguments.rounds).await?;
    crowd::one_payment(&pool).await?;
    crowd::tokens(&pool).await?;
    crowd::short_lock(&pool).await?;
    table::drop(&pool).await
}
