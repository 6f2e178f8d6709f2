//! `cargo xtask bench`: what the gate costs, beside a plain Worker that only passes requests on, and what the ledger costs.
//! Invariant: what is compared was measured in turns within one run, and each measurement is checked by what the origin executed meanwhile.
//!
//! Nothing here decides whether a figure is good: machines differ, and a test that measures time fails on a busy one.

mod counts;
mod databases;
mod fill;
mod keys;
mod load;
mod origin;
mod report;
mod rivals;
mod rounds;
mod runtime;
mod sdk;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

use crate::build;
use crate::project::Project;
use crate::setup::{self, Tools};
use crate::stack::ports::Ports;
use crate::stack::random_hex;
use crate::ui::Step;
use keys::Keys;
use origin::Origin;
use report::Report;
use rivals::Rival;
use rounds::Rounds;
use runtime::Runtime;

/// What to measure.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Pass-through, first execution, replay and duplicates at once, in workerd on this machine
    Edge(Edge),
    /// The ledger on SQLite, PostgreSQL and MariaDB: its cost, and what is often used in its place
    Origin(databases::Databases),
    /// The SDK: how large it is, and how long a page waits until it answers, in Chromium
    Sdk(sdk::Sdk),
}

/// How to measure the gate.
#[derive(Args)]
pub(crate) struct Edge {
    /// How often everything is measured in turns; what is reported are medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// For how long the origin works on a request, in milliseconds, each measured by itself
    #[arg(long, value_delimiter = ',', default_value = "0,5,20,100")]
    origin_ms: Vec<u64>,
    /// How many operations a shard holds already, each measured by itself; a million takes a minute and a gigabyte of disk
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000")]
    stored: Vec<u32>,
    /// Another Worker that executes once, measured in the same rounds: a bundled module with a class `Store` of objects; more than one can be named
    #[arg(long = "rival", value_name = "NAME=FILE")]
    rivals: Vec<Rival>,
    /// The folder for the objects' databases, emptied first and removed at the end [default: in memory, if there is /dev/shm]
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Measures, and prints what was measured.
pub(crate) fn run(project: &Project, bench: &Bench) -> Result<()> {
    let tools = Tools::install(project)?;
    build::all(project, &tools)?;
    let edge = match bench {
        Bench::Edge(edge) => edge,
        Bench::Origin(origin) => return databases::run_all(project, &tools, origin),
        Bench::Sdk(sdk) => return sdk::run(project, &tools, sdk),
    };
    let report = measure(project, &tools, edge)?;
    match edge.json {
        true => println!("{:#}", report.json()),
        false => println!("{report}"),
    }
    Ok(())
}

fn measure(project: &Project, tools: &Tools, edge: &Edge) -> Result<Report> {
    let state = edge.state_dir.clone().unwrap_or_else(|| state(project));
    let site = Site::new(project, &state)?;
    let origin = Origin::start()?;
    let mut keys = Keys::new(&site.secret);
    runtime::write_pass_through(&site.pass_through, site.ports.origin(), &origin.url())?;
    runtime::write_hops(&site.hops, site.hops_ports.gate(), &origin.url())?;
    site.write_gate(project, &origin, None)?;
    let step = Step::start("filling shards");
    let shards = fill_shards(project, tools, &site, &mut keys, &edge.stored)?;
    step.done();
    let mut rounds = Rounds {
        pass_through: site.start_pass_through(project, tools)?,
        hops: site.start_hops(project, tools)?,
        gate: site.start_gate(project, tools)?,
        rivals: rivals::start(project, tools, &state, &origin, &edge.rivals)?,
        origin: &origin,
        keys: &mut keys,
    };
    let mut report = Report::default();
    for service_ms in &edge.origin_ms {
        report
            .sections
            .push(rounds.compared(edge.rounds, *service_ms)?);
    }
    report
        .sections
        .push(rounds.stored(edge.rounds, &edge.stored, &shards)?);
    drop(rounds);
    report.counts = counts::count(project, tools, &site, &origin, &mut keys)?;
    setup::remove(&state)?;
    Ok(report)
}

/// In memory where the machine has such a folder. workerd's one thread stands still while a local disk is flushed; the
/// platform's storage confirms writes from elsewhere, and the thread goes on meanwhile.
fn state(project: &Project) -> PathBuf {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => memory.join(format!("oncegate-bench-{}", std::process::id())),
        false => project.path("target/xtask/bench"),
    }
}

/// One shard for each number of operations that it shall hold already, filled.
fn fill_shards(
    project: &Project,
    tools: &Tools,
    site: &Site,
    keys: &mut Keys,
    stored: &[u32],
) -> Result<Vec<u16>> {
    let shards: Vec<u16> = (0..u16::try_from(stored.len())?).collect();
    for (shard, rows) in shards.iter().zip(stored) {
        let before = fill::databases(&site.gate)?;
        let gate = site.start_gate(project, tools)?;
        let (_, key) = keys.in_one_of(&[*shard], gate.address());
        load::run(
            gate.address(),
            &vec![vec![keys::request(gate.address(), &key)]],
            201,
        )?;
        drop(gate);
        let mut new = fill::databases(&site.gate)?;
        new.retain(|file| !before.contains(file));
        let [file] = &new[..] else {
            bail!("one request made {} databases of shards", new.len());
        };
        fill::add(tools, file, rows - 1)?;
    }
    Ok(shards)
}

/// Where the benchmark's Workers stand.
struct Site {
    gate: PathBuf,
    pass_through: PathBuf,
    hops: PathBuf,
    ports: Ports,
    hops_ports: Ports,
    secret: String,
}

impl Site {
    /// An empty one: nothing of an earlier run is measured again.
    fn new(project: &Project, state: &Path) -> Result<Self> {
        setup::remove(state)?;
        let [gate, pass_through, hops] =
            ["gate", "pass-through", "hops"].map(|name| state.join(name));
        for folder in [&gate, &pass_through, &hops] {
            let objects = folder.join("objects");
            fs::create_dir_all(&objects)
                .with_context(|| format!("cannot create {}", objects.display()))?;
        }
        Ok(Self {
            gate,
            pass_through,
            hops,
            ports: Ports::claim(project, 0)?,
            hops_ports: Ports::claim(project, 0)?,
            secret: format!("{}{}", random_hex()?, random_hex()?),
        })
    }

    fn write_gate(&self, project: &Project, origin: &Origin, wrapper: Option<&str>) -> Result<()> {
        let signing = format!("bench={}", self.secret);
        let vars = [
            ("ORIGIN_URL", &*origin.url()),
            ("IDENTITY_SECRET", &self.secret),
            ("SIGNING_SECRETS", &signing),
        ];
        runtime::write_gate(project, &self.gate, self.ports.gate(), &vars, wrapper)
            .context("the gate cannot be put in place for workerd")
    }

    fn start_gate(&self, project: &Project, tools: &Tools) -> Result<Runtime> {
        Runtime::start(project, tools, &self.gate, self.ports.gate())
    }

    fn start_hops(&self, project: &Project, tools: &Tools) -> Result<Runtime> {
        Runtime::start(project, tools, &self.hops, self.hops_ports.gate())
    }

    fn start_pass_through(&self, project: &Project, tools: &Tools) -> Result<Runtime> {
        Runtime::start(project, tools, &self.pass_through, self.ports.origin())
    }
}
