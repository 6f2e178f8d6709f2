//! One origin and one gate in front of it, as processes of this machine. Invariant: everything that a stack writes lies in
//! its state folder, and both processes end with it.

pub(crate) mod config;
pub(crate) mod family;
pub(crate) mod ports;
pub(crate) mod remote;
mod secrets;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail};
use ureq::Agent;

use crate::build;
use crate::http;
use crate::process::Process;
use crate::project::{Lock, Project};
use crate::setup::Tools;
use crate::ui::Step;
use config::RouteOverride;
use ports::Ports;
use secrets::Secrets;

const STARTING: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(25);

/// What a stack is made of.
pub(crate) struct Plan {
    /// The folder for databases, logs and the generated configuration.
    pub(crate) state: PathBuf,
    /// The gate's port, 0 for any; the origin takes the next one.
    pub(crate) port: u16,
    /// Whether to forget what the state folder holds.
    pub(crate) fresh: bool,
    /// Whether the page of the family finds what it needs.
    pub(crate) family: bool,
    /// Changes to the first route of wrangler.toml.
    pub(crate) overrides: Vec<RouteOverride>,
    /// An origin that somebody else runs; without it, the stack starts the shop.
    pub(crate) foreign_origin: Option<String>,
}

/// A running stack; dropping it ends its processes.
pub(crate) struct Stack {
    project: Project,
    tools: Tools,
    state: PathBuf,
    ports: Ports,
    family: bool,
    secrets: Secrets,
    shop: Shop,
    origin: Option<Process>,
    gate: Option<Process>,
    _lock: Lock,
}

/// What is behind the gate.
enum Shop {
    /// The shop, by its program.
    Own(PathBuf),
    /// What somebody else runs at this address.
    Foreign(String),
}

impl Stack {
    /// Builds what has changed, then starts the origin and the gate.
    pub(crate) fn start(project: &Project, tools: &Tools, plan: &Plan) -> Result<Self> {
        // Asked for first: nobody wants to hear after a long build that the port is taken.
        let ports = Ports::claim(project, plan.port)?;
        let (state, lock) = open_state(&plan.state, plan.fresh)?;
        build::all(project, tools)?;
        let shop = match &plan.foreign_origin {
            Some(url) => Shop::Foreign(url.clone()),
            None => Shop::Own(build::origin(project)?),
        };
        let secrets = Secrets::of(&state, plan.family)?;
        let mut stack = Self {
            project: project.clone(),
            tools: tools.clone(),
            state,
            ports,
            family: plan.family,
            secrets,
            shop,
            origin: None,
            gate: None,
            _lock: lock,
        };
        stack.configure_gate(&plan.overrides)?;
        if plan.foreign_origin.is_none() {
            stack.start_origin()?;
        }
        stack.start_gate()?;
        Ok(stack)
    }

    /// The address of the gate, and of the page.
    pub(crate) fn gate_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.gate())
    }

    /// The address of the origin.
    pub(crate) fn origin_url(&self) -> String {
        match &self.shop {
            Shop::Own(_) => format!("http://127.0.0.1:{}", self.ports.origin()),
            Shop::Foreign(url) => url.clone(),
        }
    }

    /// The origin's database file.
    pub(crate) fn database(&self) -> PathBuf {
        self.state.join("shop.sqlite")
    }

    /// The folder of everything that the stack writes.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// The ids of the running processes: origin, gate.
    pub(crate) fn ids(&self) -> (Option<u32>, Option<u32>) {
        (
            self.origin.as_ref().map(Process::id),
            self.gate.as_ref().map(Process::id),
        )
    }

    /// Fails with the tail of its log if a process has ended.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        self.origin
            .iter_mut()
            .chain(self.gate.iter_mut())
            .try_for_each(Process::check_alive)
    }

    /// Whether the gate answers.
    pub(crate) fn answers(&self) -> bool {
        healthy(&http::client(Duration::from_secs(2)), &self.gate_health())
    }

    /// The error of a gate that runs and does not answer as it should.
    pub(crate) fn gate_failure(&self, what: &str) -> Error {
        self.gate.as_ref().map_or_else(
            || Error::msg("the gate does not run"),
            |gate| gate.failure(what),
        )
    }

    /// Starts the origin if it does not run, and waits until it answers.
    pub(crate) fn start_origin(&mut self) -> Result<()> {
        if self.origin.is_none() {
            let health = format!("{}/health", self.origin_url());
            let mut command = self.origin_serve()?;
            self.origin = Some(self.serve("the origin", &mut command, "origin.log", &health)?);
        }
        Ok(())
    }

    /// Starts the gate if it does not run, and waits until it answers.
    pub(crate) fn start_gate(&mut self) -> Result<()> {
        if self.gate.is_none() {
            let health = self.gate_health();
            self.gate =
                Some(self.serve("the gate", &mut self.wrangler_dev()?, "gate.log", &health)?);
        }
        Ok(())
    }

    /// Ends the origin as an operator does.
    pub(crate) fn stop_origin(&mut self) {
        drop(self.origin.take());
    }

    /// Ends the origin as a crash does.
    pub(crate) fn kill_origin(&mut self) {
        self.origin.take().iter_mut().for_each(Process::kill);
    }

    /// Ends the gate as a crash does.
    pub(crate) fn kill_gate(&mut self) {
        self.gate.take().iter_mut().for_each(Process::kill);
    }

    fn gate_health(&self) -> String {
        format!("{}/.oncegate/v1/health", self.gate_url())
    }

    fn configure_gate(&self, overrides: &[RouteOverride]) -> Result<()> {
        let source = self.project.path("wrangler.toml");
        let text = fs::read_to_string(&source)
            .with_context(|| format!("cannot read {}", source.display()))?;
        let more = if self.family { family::GATE } else { "" };
        let (root, origin) = (self.project.root(), self.origin_url());
        let made = config::for_stack(&text, more, root, &origin, overrides)?;
        write(&self.state.join("wrangler.toml"), &made)
    }

    fn serve(
        &self,
        name: &'static str,
        command: &mut Command,
        log: &str,
        health: &str,
    ) -> Result<Process> {
        let step = Step::start(format!("starting {name}"));
        let process = ready(
            Process::start(name, command, &self.state.join(log))?,
            health,
        )?;
        step.done();
        Ok(process)
    }

    fn origin_serve(&self) -> Result<Command> {
        let Shop::Own(program) = &self.shop else {
            bail!("the origin is not this stack's: whoever runs it starts it");
        };
        let mut command = Command::new(program);
        command.args([
            "serve",
            "--faults",
            "--listen",
            &format!("127.0.0.1:{}", self.ports.origin()),
        ]);
        command
            .arg("--database")
            .arg(format!("sqlite:{}", self.database().display()));
        command.envs(self.secrets.of_the_shop());
        if self.family {
            command.env("ONCEGATE_GATE", self.gate_url());
        }
        Ok(command)
    }

    /// The registry folder is the stack's own: through the shared one a gate would reach another stack's gate by its name.
    fn wrangler_dev(&self) -> Result<Command> {
        let mut command = self.tools.npm_command("wrangler");
        command.args([
            "dev",
            "--local",
            "--ip",
            "127.0.0.1",
            "--inspector-port",
            "0",
            "--show-interactive-dev-session",
            "false",
        ]);
        command.args(["--port", &self.ports.gate().to_string()]);
        command
            .arg("--config")
            .arg(self.state.join("wrangler.toml"))
            .arg("--persist-to")
            .arg(self.state.join("gate"));
        if self.family {
            // Beside the gate in its process: queues do not reach any other.
            command
                .arg("--config")
                .arg(family::write_sender(&self.state)?);
        }
        command.current_dir(&self.state);
        command
            .env("WRANGLER_REGISTRY_PATH", self.state.join("registry"))
            .env("WRANGLER_LOG_PATH", self.state.join("wrangler-logs"));
        offline(&mut command);
        Ok(command)
    }
}

/// Keeps wrangler from calling out and from asking questions.
pub(crate) fn offline(command: &mut Command) {
    for (name, value) in [
        ("CI", "true"),
        ("CLOUDFLARE_CF_FETCH_ENABLED", "false"),
        ("NO_COLOR", "1"),
        ("WRANGLER_HIDE_BANNER", "true"),
        ("WRANGLER_SEND_ERROR_REPORTS", "false"),
        ("WRANGLER_SEND_METRICS", "false"),
    ] {
        command.env(name, value);
    }
}

/// Waits until a server is up, as long as it lives.
fn ready(mut process: Process, url: &str) -> Result<Process> {
    let (client, deadline) = (
        http::client(Duration::from_secs(2)),
        Instant::now() + STARTING,
    );
    loop {
        if is_up(&client, url) {
            return Ok(process);
        }
        process.check_alive()?;
        if Instant::now() > deadline {
            return Err(process.failure(&format!(
                "does not answer {url} within {} s",
                STARTING.as_secs()
            )));
        }
        sleep(POLL);
    }
}

/// A gate with settings that it cannot use is up as well: it says so to everybody, and its log says why.
fn is_up(client: &Agent, url: &str) -> bool {
    http::get(client, url)
        .is_ok_and(|answer| answer.status == 200 || answer.json()["code"] == "gate_unavailable")
}

fn healthy(client: &Agent, url: &str) -> bool {
    http::get(client, url).is_ok_and(|answer| answer.status == 200)
}

/// The state folder, locked, and emptied if asked for.
fn open_state(folder: &Path, fresh: bool) -> Result<(PathBuf, Lock)> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let folder = folder
        .canonicalize()
        .with_context(|| format!("cannot open {}", folder.display()))?;
    let Some(lock) = Lock::take(&folder.join("lock"))? else {
        bail!(
            "another run uses {}: end it, or choose another folder with --state-dir",
            folder.display()
        );
    };
    if fresh {
        empty(&folder)?;
    }
    Ok((folder, lock))
}

/// What a stack and its tools leave in a state folder.
const OURS: [&str; 9] = [
    ".dev.vars",
    ".wrangler",
    "gate",
    "gate.log",
    "origin.log",
    "registry",
    family::SENDER,
    "wrangler-logs",
    "wrangler.toml",
];

/// Removes all but the lock: a second lock file would let a second run in. A folder that holds anything else is not a state
/// folder, and nothing in it is touched.
fn empty(folder: &Path) -> Result<()> {
    let paths = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    let is_ours = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| {
                name == "lock" || OURS.contains(&name) || name.starts_with("shop.sqlite")
            })
    };
    if let Some(other) = paths.iter().find(|path| !is_ours(path)) {
        bail!(
            "{} is not Oncegate's, so --fresh removes nothing: choose another --state-dir",
            other.display()
        );
    }
    for path in paths {
        let removed = match path.file_name() {
            Some(name) if name == "lock" => Ok(()),
            _ if path.is_dir() => fs::remove_dir_all(&path),
            _ => fs::remove_file(&path),
        };
        removed.with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// 128 random bits in hexadecimal.
pub(crate) fn random_hex() -> Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
