//! A database server for tests and measurements. Invariant: it has a data folder of its own, listens on loopback only, runs
//! as a user without rights, and ends with this program; the machine's own servers and folders are never touched.

mod certificate;
pub(crate) mod remote;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process::{Process, ask, children_of, is_over, run};
use crate::project::Project;
use crate::setup::{self, Programs};
use crate::stack::ports::Ports;
use crate::ui::Step;

const STARTING: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(25);

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// MariaDB, which speaks for MySQL too
    Mysql,
    /// PostgreSQL
    Postgres,
}

/// A running server, or one that was killed and can be started again.
pub(crate) struct Server {
    kind: Kind,
    programs: Programs,
    folder: PathBuf,
    user: Option<(u32, u32)>,
    ports: Ports,
    process: Option<Process>,
}

impl Server {
    /// Makes a data folder below `folder`, if there is none, and starts the server.
    pub(crate) fn start(project: &Project, kind: Kind, folder: &Path) -> Result<Self> {
        let programs = match kind {
            Kind::Mysql => setup::mariadb(project)?,
            Kind::Postgres => setup::postgres(project)?,
        };
        let mut server = Self {
            kind,
            programs,
            // The server works in it, so that a relative path would be another one there.
            folder: std::path::absolute(folder)?,
            user: unprivileged()?,
            ports: Ports::claim(project, 0)?,
            process: None,
        };
        server.make_folder()?;
        server.make_certificate(project)?;
        server.start_again()?;
        Ok(server)
    }

    /// Where it is, and as whom to speak with it. There is no password.
    pub(crate) fn url(&self) -> String {
        let port = self.ports.gate();
        match self.kind {
            Kind::Mysql => format!("mysql://root@127.0.0.1:{port}/mysql"),
            Kind::Postgres => format!("postgres://postgres@127.0.0.1:{port}/postgres"),
        }
    }

    /// Starts it if it does not run, and waits until it answers.
    pub(crate) fn start_again(&mut self) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        let log = self.folder.join("server.log");
        let mut process = Process::start(self.name(), &mut self.serve(), &log)?;
        let deadline = Instant::now() + STARTING;
        while ask(&mut self.question()).is_none() {
            process.check_alive()?;
            if Instant::now() > deadline {
                return Err(process.failure("does not answer"));
            }
            sleep(POLL);
        }
        self.process = Some(process);
        Ok(())
    }

    /// Ends it as a crash does. PostgreSQL's backends lead groups of their own, and one that lives on, or is not over yet, keeps
    /// the server from starting again.
    pub(crate) fn kill(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        // Otherwise it would take on another one meanwhile.
        process.pause();
        let backends = children_of(process.id());
        process.kill();
        for backend in &backends {
            // It may have ended with its server.
            let _ = kill(Pid::from_raw(*backend), Signal::SIGKILL);
        }
        let deadline = Instant::now() + STARTING;
        while !backends.iter().copied().all(is_over) && Instant::now() < deadline {
            sleep(POLL);
        }
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Mysql => "MariaDB",
            Kind::Postgres => "PostgreSQL",
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn make_folder(&self) -> Result<()> {
        if self.data().exists() {
            return Ok(());
        }
        let step = Step::start(format!("making a data folder for {}", self.name()));
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot create {}", self.folder.display()))?;
        if let Some((user, group)) = self.user {
            std::os::unix::fs::chown(&self.folder, Some(user), Some(group))
                .with_context(|| format!("cannot give {} away", self.folder.display()))?;
        }
        let mut install = self.program(&self.programs.install);
        let data = self.data();
        match self.kind {
            Kind::Mysql => install
                .arg("--no-defaults")
                .arg(format!("--datadir={}", data.display()))
                .args(["--auth-root-authentication-method=normal", "--skip-test-db"]),
            Kind::Postgres => install.arg("-D").arg(data).args([
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "-N",
            ]),
        };
        run(&mut install, &step, &self.folder.join("install.log"))?;
        step.done();
        Ok(())
    }

    fn serve(&self) -> Command {
        let mut serve = self.program(&self.programs.server);
        let (folder, data, port) = (&self.folder, self.data(), self.ports.gate().to_string());
        match self.kind {
            Kind::Mysql => serve
                // First, or the machine's settings are read.
                .arg("--no-defaults")
                .arg(format!("--datadir={}", data.display()))
                .arg(format!("--socket={}", folder.join("socket").display()))
                .arg(format!("--pid-file={}", folder.join("pid").display()))
                .args(["--bind-address=127.0.0.1", "--max-connections=500"])
                .arg(format!("--ssl-cert={}", self.certificate().display()))
                .arg(format!("--ssl-key={}", self.certificate_key().display()))
                .arg(format!("--port={port}")),
            Kind::Postgres => serve.arg("-D").arg(data).arg("-k").arg(folder).args([
                "-h",
                "127.0.0.1",
                "-p",
                &port,
                "-c",
                "max_connections=500",
                "-c",
                "ssl=on",
                "-c",
                &format!("ssl_cert_file={}", self.certificate().display()),
                "-c",
                &format!("ssl_key_file={}", self.certificate_key().display()),
            ]),
        };
        serve
    }

    fn question(&self) -> Command {
        let mut question = Command::new(&self.programs.ask);
        let port = self.ports.gate().to_string();
        match self.kind {
            Kind::Mysql => question
                .args(["--no-defaults", "-h127.0.0.1", "-P", &port, "-uroot"])
                .args(["-e", "SELECT 1"]),
            Kind::Postgres => question.args(["-h", "127.0.0.1", "-p", &port]),
        };
        question
    }

    /// A program of the server's, as its user: both refuse to run as root.
    fn program(&self, path: &Path) -> Command {
        let mut command = Command::new(path);
        command.current_dir(&self.folder);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The ids of a user without rights, if this one is root.
fn unprivileged() -> Result<Option<(u32, u32)>> {
    let id = |arguments: &[&str]| {
        let printed = ask(Command::new("id").args(arguments))?;
        printed.parse::<u32>().ok()
    };
    if id(&["-u"]) != Some(0) {
        return Ok(None);
    }
    let nobody = id(&["-u", "nobody"]).zip(id(&["-g", "nobody"]));
    nobody.map(Some).context(
        "there is no user `nobody` to run a database server: run this as another user than root",
    )
}
