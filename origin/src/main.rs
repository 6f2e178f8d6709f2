//! The reference shop as a program.

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use oncegate_core::signature::Secrets;
use oncegate_origin::server::{Config, Origin};
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
    /// Serve the shop until SIGINT or SIGTERM.
    Serve(Serve),
}

#[derive(Args)]
struct Serve {
    /// Where to listen; port 0 takes any free port.
    #[arg(long, default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// The database: sqlite:PATH (the file is created), mysql://USER@HOST/NAME or postgres://USER@HOST/NAME.
    #[arg(long, value_name = "URL")]
    database: String,
    /// The secrets the gate signs with: name=secret[,name2=secret2].
    #[arg(long, env = "ONCEGATE_SIGNING_SECRETS", hide_env_values = true)]
    signing_secrets: String,
    /// Let `PUT /faults` break things on purpose. For demonstrations and tests only.
    #[arg(long)]
    faults: bool,
}

fn main() -> ExitCode {
    let Command::Serve(arguments) = Cli::parse().command;
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Serve) -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let result = runtime.block_on(serve(arguments));
    // Not waiting for calls that are still open: their transactions roll back with the process.
    runtime.shutdown_background();
    result
}

async fn serve(arguments: Serve) -> Result<(), Box<dyn Error>> {
    // Not parsed with the other arguments: of those, a wrong one is shown.
    let secrets = Secrets::parse(&arguments.signing_secrets)
        .map_err(|error| format!("--signing-secrets or ONCEGATE_SIGNING_SECRETS: {error}"))?;
    let origin = Origin::bind(Config {
        listen: arguments.listen,
        database: arguments.database,
        secrets,
        faults: arguments.faults,
    })
    .await?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on http://{}", origin.address()?)?;
    stdout.flush()?;
    let shutdown = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    origin.serve(shutdown).await;
    Ok(())
}
