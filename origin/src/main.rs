//! The reference shop as a program.

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use oncegate_core::signature::Secrets;
use oncegate_origin::commands::{self, Trouble};
use oncegate_origin::dead::{DeadLetter, Replayed};
use oncegate_origin::job::{Run, Settings};
use oncegate_origin::lab::Lab;
use oncegate_origin::provider::{self, client::Client};
use oncegate_origin::server::{Config, Origin};
use oncegate_origin::shop::callback::CallbackSecret;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// The reference shop: a ledger origin behind the Oncegate gate.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Recompute stock, charges, points and payouts from the rows; fails if the books do not balance.
    Check(At),
    /// Do the work of what the broker delivers, until SIGINT or SIGTERM.
    Consume(Consume),
    /// List, replay or discard messages that nobody could work off.
    #[command(subcommand)]
    DeadLetters(DeadLetters),
    /// Bring the tables up to date.
    Migrate(At),
    /// Be a stand-in for a payment provider, until SIGINT or SIGTERM.
    Provider(Provider),
    /// Forget keys after their retention, and the records of messages that no broker delivers any more.
    Purge(Purge),
    /// Deliver what the outbox owes, until SIGINT or SIGTERM. Any number of relays may run.
    Relay(Relay),
    /// Serve the shop until SIGINT or SIGTERM.
    Serve(Box<Serve>),
    /// Settle what merchants are owed for finished orders. A second run at the same time is harmless.
    Settle(Settle),
}

#[derive(Args)]
struct At {
    /// The database: sqlite:PATH (created if there is none), mysql://… or postgres://….
    #[arg(
        long,
        value_name = "URL",
        env = "ONCEGATE_DATABASE",
        hide_env_values = true
    )]
    database: String,
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    at: At,
    /// Where to listen; port 0 takes any free port.
    #[arg(long, env = "ONCEGATE_LISTEN", default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// The secrets the gate signs with: name=secret[,name2=secret2].
    #[arg(long, env = "ONCEGATE_SIGNING_SECRETS", hide_env_values = true)]
    signing_secrets: String,
    /// The secrets of those who may see `/books`, `/metrics`, `/points/{user}` and all `/orders`: name=secret[,name2=secret2],
    /// sent as `Authorization: Bearer`. Without any, nobody may.
    #[arg(long, env = "ONCEGATE_ADMIN_SECRETS", hide_env_values = true)]
    admin_secrets: Option<String>,
    /// The secret the payment provider signs its callbacks with, 16 characters or more. Without it no
    /// callback is taken.
    #[arg(long, env = "ONCEGATE_CALLBACK_SECRET", hide_env_values = true)]
    callback_secret: Option<String>,
    /// The payment provider's address, http://HOST:PORT. Without it `POST /orders/{id}/pay` is not there.
    #[arg(long, value_name = "URL", env = "ONCEGATE_PROVIDER")]
    provider: Option<String>,
    /// How long the provider is waited for.
    #[arg(long, env = "ONCEGATE_PROVIDER_TIMEOUT_MS", default_value_t = 20_000)]
    provider_timeout_ms: u64,
    /// How long a settlement's lock stays with a run that says nothing: longer than the slowest row takes. One
    /// call of `POST /settlements` goes on for so long at most.
    #[arg(long, env = "ONCEGATE_SETTLE_LEASE_MS", default_value_t = 60_000)]
    settle_lease_ms: u64,
    /// How often payments and settlements that were begun and not finished are looked into.
    #[arg(long, env = "ONCEGATE_RECOVER_MS", default_value_t = 10_000)]
    recover_ms: u64,
    /// Relay the outbox to the shop itself in this process. Without it, run `relay`.
    #[arg(long, env = "ONCEGATE_RELAY")]
    relay: bool,
    /// Let `PUT /faults` break things on purpose. For demonstrations and tests only.
    #[arg(long)]
    faults: bool,
    #[command(flatten)]
    lab: AtTheGate,
}

/// What the back room of `--faults` asks the gate for. What is not given, it does not do.
#[derive(Args)]
struct AtTheGate {
    /// The gate's address.
    #[arg(long, value_name = "URL", env = "ONCEGATE_GATE")]
    gate: Option<String>,
    /// One of the gate's `LOCKS_SECRETS`, without its name.
    #[arg(long, env = "ONCEGATE_LOCKS_SECRET", hide_env_values = true)]
    locks_secret: Option<String>,
    /// One of the gate's `CLAIMS_SECRETS`, without its name.
    #[arg(long, env = "ONCEGATE_CLAIMS_SECRET", hide_env_values = true)]
    claims_secret: Option<String>,
    /// One of the gate's `ADMIN_SECRETS`, without its name: to run a job again.
    #[arg(long, env = "ONCEGATE_GATE_ADMIN_SECRET", hide_env_values = true)]
    gate_admin_secret: Option<String>,
}

impl AtTheGate {
    fn lab(&self) -> Result<Lab, Trouble> {
        let secrets = [
            self.locks_secret.as_deref(),
            self.claims_secret.as_deref(),
            self.gate_admin_secret.as_deref(),
        ];
        Lab::new(self.gate.as_deref(), secrets)
    }
}

#[derive(Args)]
struct Relay {
    #[command(flatten)]
    at: At,
    /// The broker to deliver to, with JetStream. Without it the shop itself is the receiver.
    #[arg(
        long,
        value_name = "nats://HOST:PORT",
        env = "ONCEGATE_BROKER",
        hide_env_values = true
    )]
    broker: Option<String>,
    /// First make every dead message due again.
    #[arg(long)]
    revive: bool,
}

#[derive(Args)]
struct Consume {
    #[command(flatten)]
    at: At,
    /// The broker that delivers, with JetStream.
    #[arg(
        long,
        value_name = "nats://HOST:PORT",
        env = "ONCEGATE_BROKER",
        hide_env_values = true
    )]
    broker: String,
}

#[derive(Subcommand)]
enum DeadLetters {
    /// Forget the letter in a place without doing its work.
    Discard(Letter),
    /// Show them, one JSON object a line.
    List(At),
    /// Do the work of all of them in order, or of the one in a place. Each goes when its work is committed.
    Replay(Letters),
}

#[derive(Args)]
struct Letter {
    #[command(flatten)]
    at: At,
    /// Its place, as `list` shows it.
    #[arg(long)]
    place: String,
}

#[derive(Args)]
struct Letters {
    #[command(flatten)]
    at: At,
    /// The place of one letter, as `list` shows it.
    #[arg(long)]
    place: Option<String>,
}

#[derive(Args)]
struct Purge {
    #[command(flatten)]
    at: At,
    /// How long keys are kept after they were settled: the `ledger_retention` of the gate's routes. Never less
    /// than two weeks, twice as long as the gate remembers a key unless told otherwise: a key that is
    /// forgotten sooner can have a second effect.
    #[arg(long, env = "ONCEGATE_RETENTION_DAYS", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(14..))]
    retention_days: u32,
}

#[derive(Args)]
struct Settle {
    #[command(flatten)]
    at: At,
    /// How long the lock stays with a run that says nothing: longer than the slowest row takes.
    #[arg(long, env = "ONCEGATE_SETTLE_LEASE_MS", default_value_t = 60_000)]
    lease_ms: u64,
    /// A rest in the middle of each row, to spare the database.
    #[arg(long, env = "ONCEGATE_SETTLE_PAUSE_MS", default_value_t = 0)]
    pause_ms: u64,
}

#[derive(Args)]
struct Provider {
    /// Where to listen; port 0 takes any free port.
    #[arg(
        long,
        env = "ONCEGATE_PROVIDER_LISTEN",
        default_value = "127.0.0.1:8789"
    )]
    listen: SocketAddr,
    /// The provider's books, a SQLite file, created if there is none.
    #[arg(long, value_name = "PATH", env = "ONCEGATE_PROVIDER_BOOKS")]
    books: PathBuf,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Trouble> {
    let runtime = Runtime::new()?;
    let result = runtime.block_on(async {
        match command {
            Command::Check(at) => check(&at).await,
            Command::Consume(Consume { at, broker }) => {
                until_ended(commands::consume(&at.database, &broker)).await
            }
            Command::DeadLetters(command) => dead_letters(command).await,
            Command::Migrate(at) => commands::migrate(&at.database).await,
            Command::Provider(arguments) => provide(arguments).await,
            Command::Purge(Purge { at, retention_days }) => {
                let retention = Duration::from_hours(24 * u64::from(retention_days));
                let [keys, records] = commands::purge(&at.database, retention).await?;
                say(&format!("{keys} keys and {records} records forgotten"))
            }
            Command::Relay(Relay { at, broker, revive }) => {
                until_ended(commands::relay(&at.database, broker.as_deref(), revive)).await
            }
            Command::Serve(arguments) => serve(*arguments).await,
            Command::Settle(arguments) => settle(arguments).await,
        }
    });
    // Not waiting for calls that are still open: their transactions roll back with the process.
    runtime.shutdown_background();
    result
}

async fn serve(arguments: Serve) -> Result<(), Trouble> {
    // Not parsed with the other arguments: of those, a wrong one is shown.
    let secrets = Secrets::parse(&arguments.signing_secrets)
        .map_err(|error| format!("--signing-secrets or ONCEGATE_SIGNING_SECRETS: {error}"))?;
    let admin_secrets = arguments.admin_secrets.as_deref().map(Secrets::parse);
    let admin_secrets = admin_secrets
        .transpose()
        .map_err(|error| format!("--admin-secrets or ONCEGATE_ADMIN_SECRETS: {error}"))?;
    let callback_secret = arguments.callback_secret.as_deref();
    let callback_secret = callback_secret.map(CallbackSecret::parse).transpose();
    let lab = arguments.lab.lab()?;
    let patience = Duration::from_millis(arguments.provider_timeout_ms);
    let provider = arguments.provider.as_deref();
    let provider = provider.map(|address| Client::new(address, patience));
    let origin = Origin::bind(Config {
        listen: arguments.listen,
        database: arguments.at.database,
        secrets,
        admin_secrets,
        callback_secret: callback_secret
            .map_err(|error| format!("--callback-secret or ONCEGATE_CALLBACK_SECRET: {error}"))?,
        provider: provider.transpose()?,
        recover_every: Duration::from_millis(arguments.recover_ms),
        settlement: Settings {
            lease: Duration::from_millis(arguments.settle_lease_ms),
            ..Settings::default()
        },
        relay: arguments.relay,
        faults: arguments.faults,
        lab,
    })
    .await?;
    let shutdown = shutdown()?;
    say(&format!("listening on http://{}", origin.address()?))?;
    origin.serve(shutdown).await;
    Ok(())
}

async fn provide(arguments: Provider) -> Result<(), Trouble> {
    let provider = provider::Provider::bind(&provider::Config {
        listen: arguments.listen,
        file: arguments.books,
    })
    .await?;
    let shutdown = shutdown()?;
    say(&format!("listening on http://{}", provider.address()?))?;
    provider.serve(shutdown).await;
    Ok(())
}

async fn check(at: &At) -> Result<(), Trouble> {
    let findings = commands::check(&at.database).await?;
    match findings.balance() {
        true => say(&findings.to_string()),
        false => Err(format!("the books do not balance\n{findings}").into()),
    }
}

async fn settle(arguments: Settle) -> Result<(), Trouble> {
    let settings = Settings {
        lease: Duration::from_millis(arguments.lease_ms),
        pause: Duration::from_millis(arguments.pause_ms),
    };
    say(
        &match commands::settle(&arguments.at.database, settings).await? {
            Run::Busy => "another run is at work".to_owned(),
            Run::Overtaken => "another run took over: the lease was over".to_owned(),
            Run::Settled(rows) => format!("{rows} rows settled"),
        },
    )
}

async fn dead_letters(command: DeadLetters) -> Result<(), Trouble> {
    match command {
        DeadLetters::Discard(Letter { at, place }) => {
            match commands::discard(&at.database, &place).await? {
                true => say("1 letter discarded"),
                false => Err(format!("there is no dead letter in the place {place}").into()),
            }
        }
        DeadLetters::List(at) => {
            let letters = commands::dead_letters(&at.database).await?;
            letters.iter().try_for_each(|letter| say(&line(letter)))
        }
        DeadLetters::Replay(Letters { at, place }) => {
            let replayed = commands::replay(&at.database, place.as_deref()).await?;
            let Replayed {
                done,
                dropped,
                failed,
                ..
            } = replayed;
            say(&format!(
                "{done} worked off, {dropped} had been before, {failed} stay"
            ))
        }
    }
}

fn line(letter: &DeadLetter) -> String {
    json!({
        "place": letter.place,
        "message": letter.message,
        "aggregate": letter.aggregate,
        "topic": letter.topic,
        "payload": String::from_utf8_lossy(&letter.payload),
        "deliveries": letter.deliveries,
        "reason": letter.reason,
        "published_ms": letter.published_ms,
    })
    .to_string()
}

/// Ends the work on a signal, or with its error.
async fn until_ended(work: impl Future<Output = Result<(), Trouble>>) -> Result<(), Trouble> {
    let shutdown = shutdown()?;
    tokio::select! {
        ended = work => ended,
        () = shutdown => Ok(()),
    }
}

fn shutdown() -> Result<impl Future<Output = ()>, Trouble> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn say(line: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut stdout = io::stdout();
    writeln!(stdout, "{line}")?;
    Ok(stdout.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l9_a_retention_after_which_a_key_could_come_back_is_refused() {
        let days = |days| {
            let arguments = [
                "oncegate-origin",
                "purge",
                "--database",
                "sqlite:x",
                "--retention-days",
                days,
            ];
            Cli::try_parse_from(arguments).map(|_| ())
        };
        assert!(days("14").is_ok());
        let error = days("0").unwrap_err().to_string();
        assert!(error.contains("14"), "{error}");
    }
}
