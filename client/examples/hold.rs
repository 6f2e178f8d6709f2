//! Takes a lock, says so, and does what it is told: `release`, or `drop`. `tests/gate` runs it on a real gate.
//!
//! `hold <gate> <secret> <name> <ttl in ms> <wait in ms>`

use std::error::Error;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, stdin};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [gate, secret, name, ttl_ms, wait_ms] = arguments.as_slice() else {
        return Err("hold <gate> <secret> <name> <ttl in ms> <wait in ms>".into());
    };
    let gate = oncegate_client::Client::new(gate, secret)?;
    let locking = gate
        .lock(name)
        .ttl(Duration::from_millis(ttl_ms.parse()?))
        .wait(Duration::from_millis(wait_ms.parse()?));
    let held = match locking.acquire().await {
        Ok(held) => held,
        Err(error) => {
            println!("error {error}");
            return Ok(());
        }
    };
    println!("held {}", held.fence());
    let mut orders = BufReader::new(stdin()).lines();
    tokio::select! {
        order = orders.next_line() => match order?.as_deref() {
            Some("release") => {
                held.release().await?;
                println!("released");
            }
            _ => {
                drop(held);
                // What was sent behind our back needs the runtime for a moment.
                tokio::time::sleep(Duration::from_secs(1)).await;
                println!("dropped");
            }
        },
        () = held.lost() => println!("lost"),
    }
    // The thread that reads orders would wait for one more.
    std::process::exit(0);
}
