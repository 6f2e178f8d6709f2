//! `cargo xtask`: builds, runs and tests Oncegate, and sets up what is missing for it.

mod bench;
mod build;
mod database;
mod http;
mod process;
mod project;
#[cfg(test)]
mod settings;
mod setup;
mod stack;
mod test;
mod ui;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Error, Result};
use clap::{Args, Parser, Subcommand};

use project::Project;
use setup::Tools;
use stack::Plan;
use stack::config::RouteOverride;

/// Where `up` keeps its databases and logs, unless told otherwise.
const STATE: &str = ".oncegate";

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Builds, runs and tests Oncegate; installs what is missing for it"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Starts the whole chain on this machine and makes one purchase through it
    Up(Up),
    /// Passes every test, or only the named parts
    Test {
        /// The parts to run, in their usual order
        parts: Vec<test::Part>,
    },
    /// Builds the SDK, the edge and the site, as far as they have changed
    Build,
    /// Measures what the gate costs
    Bench {
        #[command(subcommand)]
        bench: bench::Bench,
    },
    /// Starts a database server with a data folder of its own, for a test that controls it by lines on standard input
    Database(Database),
    /// Starts origin and gate for a test that controls them by lines on standard input
    Stack(Stack),
}

#[derive(Args)]
struct Up {
    /// The gate's port; the origin listens on the next one
    #[arg(long, default_value_t = 8787)]
    port: u16,
    /// The folder for databases and logs [default: .oncegate in the checkout]
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// Forget what the state folder holds
    #[arg(long)]
    fresh: bool,
    /// Make the purchase, print what happened, stop everything
    #[arg(long)]
    check: bool,
}

#[derive(Args)]
struct Database {
    /// Which one
    kind: database::Kind,
    /// The folder for its data and logs
    #[arg(long)]
    state_dir: PathBuf,
}

#[derive(Args)]
struct Stack {
    /// The gate's port, the origin takes the next one; 0 for any
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The folder for databases and logs
    #[arg(long)]
    state_dir: PathBuf,
    /// With what the page of the family needs, as `up`
    #[arg(long)]
    family: bool,
    /// Another value for a field of the first route, such as lease_ms=1500, or for a variable, such as CORS_ORIGINS=[]
    #[arg(long, value_name = "FIELD=VALUE")]
    route_override: Vec<RouteOverride>,
    /// The address of an origin that already runs, such as http://127.0.0.1:9000; the stack then starts none
    #[arg(long, value_name = "URL")]
    origin_url: Option<String>,
}

/// Ends what this program started, also when it panics.
struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        process::end_everything();
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = {
        let _at_end = AtEnd;
        process::end_on_signals()
            .context("cannot listen for signals")
            .and_then(|()| dispatch(arguments.command))
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            ui::say(&describe(&error));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode> {
    let project = Project::find()?;
    match command {
        Command::Up(up) => {
            let state = up.state_dir.unwrap_or_else(|| project.path(STATE));
            up::run(
                &project,
                &Plan {
                    state,
                    port: up.port,
                    fresh: up.fresh,
                    family: true,
                    overrides: Vec::new(),
                    foreign_origin: None,
                },
                up.check,
            )?;
        }
        Command::Test { parts } => return test::run(&project, &parts),
        Command::Build => {
            let tools = Tools::install(&project)?;
            build::all(&project, &tools)?;
            build::write_reference(&project, &tools)?;
            build::print_sizes(&project, &tools)?;
        }
        Command::Bench { bench } => bench::run(&project, &bench)?,
        Command::Database(server) => {
            database::remote::serve(&project, server.kind, &server.state_dir)?;
        }
        Command::Stack(stack) => {
            let plan = Plan {
                state: stack.state_dir,
                port: stack.port,
                fresh: false,
                family: stack.family,
                overrides: stack.route_override,
                foreign_origin: stack.origin_url,
            };
            stack::remote::serve(&project, &plan)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a failed tool printed last, then one line that says what went wrong.
fn describe(error: &Error) -> String {
    let (tails, reasons): (Vec<_>, Vec<_>) =
        error.chain().partition(|cause| cause.is::<process::Tail>());
    let indented = tails.iter().flat_map(|tail| {
        tail.to_string()
            .lines()
            .map(|line| format!("    {line}\n"))
            .collect::<Vec<_>>()
    });
    let line = reasons
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ");
    format!("{}error: {line}", indented.collect::<String>())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_error_is_one_line_of_reasons_from_the_outside_in() {
        let error = anyhow::anyhow!("permission denied").context("cannot write x");
        assert_eq!(describe(&error), "error: cannot write x: permission denied");
    }
}
