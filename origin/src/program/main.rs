//! The reference shop as a program.

mod arguments;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use oncegate_core::signature::Secrets;
use oncegate_origin::commands::{self, Trouble};
use oncegate_origin::dead::{DeadLetter, Replayed};
use oncegate_origin::job::{Run, Settings};
use oncegate_origin::provider::{self, client::Client};
use oncegate_origin::server::{Config, Origin};
use oncegate_origin::shop::callback::CallbackSecret;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use arguments::{
    At, Cli, Command, Consume, DeadLetters, Letter, Letters, Provider, Purge, Relay, Serve, Settle,
};

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
            Command::Consume(arguments) => consume(arguments).await,
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
    let lab = arguments.lab()?;
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

async fn consume(arguments: Consume) -> Result<(), Trouble> {
    let claims = arguments.claiming.claims()?;
    let (database, broker) = (arguments.at.database, arguments.broker);
    until_ended(commands::consume(&database, &broker, claims.as_ref())).await
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
