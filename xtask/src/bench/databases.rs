//! What the ledger costs and is worth on each database, and what a gate in front of it saves. Invariant: each server is
//! started for the run, and its data removed after it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use super::keys::{Keys, request};
use super::load::{self, Script};
use super::runtime;
use super::{Site, origin, state};
use crate::database::{Kind, Server};
use crate::process::run;
use crate::project::Project;
use crate::setup::{self, Tools};
use crate::ui::Step;

const CONNECTIONS: usize = 32;
/// Operations of each connection, and how often each is sent: nine of ten requests are duplicates.
const OPERATIONS: usize = 4;
const SENDS: usize = 10;

/// How to measure the ledger.
#[derive(Args)]
pub(crate) struct Databases {
    /// How often everything is measured in turns; what is reported are medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// On which databases
    #[arg(long, value_delimiter = ',', default_value = "sqlite,postgres,mysql")]
    on: Vec<On>,
}

/// A database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum On {
    /// A file, embedded
    Sqlite,
    /// PostgreSQL
    Postgres,
    /// MariaDB, which speaks for MySQL too
    Mysql,
}

/// Measures, and prints what was measured.
pub(super) fn run_all(project: &Project, tools: &Tools, arguments: &Databases) -> Result<()> {
    let program = build(project)?;
    // On a disk, whatever /tmp is: what a commit costs is what is to be measured.
    let folder = project.path("target/xtask/bench-databases");
    for on in &arguments.on {
        setup::remove(&folder)?;
        println!(
            "\n{}",
            measure(project, &program, &folder, *on, arguments.rounds)?
        );
    }
    setup::remove(&folder)?;
    println!("{}", saved(project, tools)?);
    Ok(())
}

fn build(project: &Project) -> Result<PathBuf> {
    let step = Step::start("building what measures the ledger");
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "build",
            "--release",
            "--package",
            "oncegate-origin",
            "--example",
            "figures",
        ])
        .current_dir(project.root());
    run(&mut cargo, &step, &project.log("build-figures"))?;
    step.done();
    Ok(project.path("target/release/examples/figures"))
}

fn measure(
    project: &Project,
    program: &Path,
    folder: &Path,
    on: On,
    rounds: usize,
) -> Result<String> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let (name, server) = match on {
        On::Sqlite => ("SQLite", None),
        On::Postgres => (
            "PostgreSQL",
            Some(Server::start(
                project,
                Kind::Postgres,
                &folder.join("postgres"),
            )?),
        ),
        On::Mysql => (
            "MariaDB",
            Some(Server::start(project, Kind::Mysql, &folder.join("mysql"))?),
        ),
    };
    let url = server.as_ref().map_or_else(
        || {
            format!(
                "sqlite:{}?mode=rwc",
                folder.join("figures.sqlite").display()
            )
        },
        Server::url,
    );
    let step = Step::start(format!("measuring on {name}"));
    let mut command = Command::new(program);
    command.args(["--database", &url, "--rounds", &rounds.to_string()]);
    let printed = run(&mut command, &step, &project.log("bench-origin"))?;
    step.done();
    Ok(format!("{name}\n{printed}"))
}

/// How many requests reach the origin when nine of ten are duplicates, without a gate and behind one.
fn saved(project: &Project, tools: &Tools) -> Result<String> {
    let folder = state(project);
    let site = Site::new(project, &folder)?;
    let origin = origin::Origin::start()?;
    let mut keys = Keys::new(&site.secret);
    runtime::write_pass_through(&site.pass_through, site.ports.origin(), &origin.url())?;
    site.write_gate(project, &origin, None)?;
    let (pass_through, gate) = (
        site.start_pass_through(project, tools)?,
        site.start_gate(project, tools)?,
    );
    let step = Step::start("sending duplicates");
    let mut reached = Vec::new();
    for address in [pass_through.address(), gate.address()] {
        let before = origin.calls();
        load::run(address, &duplicates(address, &mut keys), 201)?;
        reached.push(origin.calls() - before);
    }
    step.done();
    setup::remove(&folder)?;
    let (operations, requests) = (CONNECTIONS * OPERATIONS, CONNECTIONS * OPERATIONS * SENDS);
    if reached[1] != operations as u64 {
        bail!(
            "{} requests reached the origin behind the gate, not {operations}",
            reached[1]
        );
    }
    Ok(format!(
        "{requests} requests, nine of ten duplicates\n\
         transactions that the database sees: without a gate {}, behind the gate {}",
        reached[0], reached[1]
    ))
}

fn duplicates(address: &str, keys: &mut Keys) -> Script {
    let mut connection = || {
        let own: Vec<_> = (0..OPERATIONS)
            .map(|_| request(address, &keys.any()))
            .collect();
        own.iter()
            .flat_map(|one| vec![one.clone(); SENDS])
            .collect()
    };
    (0..CONNECTIONS).map(|_| connection()).collect()
}
