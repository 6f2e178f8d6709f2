//! A worker under a lock of the gate that acts on a shelf when it is told to, with the lock's fence or without. `tests/gate` stops
//! it for longer than its lock lasts.
//!
//! `worker <gate> <lock> <database> <fenced | unfenced>`, with a SQLite file, and one of the gate's `LOCKS_SECRETS`, without its name,
//! in `ONCEGATE_LOCKS_SECRET`: arguments are seen by everybody on the machine.

use std::error::Error;
use std::time::Duration;

use oncegate_origin::id::Id;
use oncegate_origin::ledger::{Answer, Call, Effect, Failure, Ledger, Verdict};
use oncegate_origin::lock;
use oncegate_origin::sql::Database;
use oncegate_origin::sums::move_stock;
use sqlx::{Sqlite, SqliteConnection};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// What the lock guards: a mug leaves the shelf.
async fn act(
    connection: &mut SqliteConnection,
    shelf: Id<'_>,
    operation: Id<'_>,
    fence: Option<u64>,
) -> Result<Effect, Failure> {
    if let Some(fence) = fence
        && !lock::admit(connection, shelf, fence).await?
    {
        return Ok(Effect::Refused(Answer::json(409, &"late")?));
    }
    move_stock::<Sqlite>(connection, operation, Id::literal("mug"), 1).await?;
    Ok(Effect::Executed(Answer::json(200, &"moved")?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [gate, name, database, fenced] = arguments.as_slice() else {
        return Err("worker <gate> <lock> <database> <fenced | unfenced>".into());
    };
    let secret = std::env::var("ONCEGATE_LOCKS_SECRET")
        .map_err(|error| format!("ONCEGATE_LOCKS_SECRET: {error}"))?;
    let database = Database::<Sqlite>::open(&format!("sqlite:{database}")).await?;
    database.migrate_shop().await?;
    let ledger = Ledger::new(database);
    let gate = oncegate_client::Client::new(gate, &secret)?;
    let locking = gate.lock(name).ttl(Duration::from_secs(1));
    let held = locking.wait(Duration::from_secs(60)).acquire().await?;
    println!("held {}", held.fence());
    BufReader::new(stdin()).lines().next_line().await?;
    let key = format!("{name}-{}", held.fence());
    let (shelf, operation) = (Id::parse(name)?, Id::parse(&key)?);
    let fence = (fenced == "fenced").then(|| held.fence());
    let effect = async move |connection: &mut SqliteConnection| {
        act(connection, shelf, operation, fence).await
    };
    let verdict = ledger.once(&Call::of(&key, b"1 mug")?, effect).await?;
    match verdict {
        Verdict::Executed(_) => println!("moved"),
        _ => println!("late"),
    }
    Ok(())
}
