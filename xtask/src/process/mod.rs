//! Child processes. Invariant: every process started here leads its own process group and stands in the list of living
//! groups until its whole group is gone, so that a signal, an error or a panic can end all of them.

mod groups;
mod output;
mod watcher;

use std::fmt;
use std::fs::File;
use std::io::PipeReader;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Error, Result};

use crate::ui::Step;

pub(crate) use groups::{children_of, end_everything, end_on_signals, is_over};
use output::tail;
use watcher::Watcher;

/// A child that is ended, with all that it started, when this value is dropped.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
    _watcher: Watcher,
}

impl Process {
    /// Starts a server whose output goes to a log file and whose input is empty.
    pub(crate) fn start(name: &'static str, command: &mut Command, log: &Path) -> Result<Self> {
        let out = create(log)?;
        command.stdout(out.try_clone()?).stderr(out);
        let child = spawn(command)?;
        let _watcher = Watcher::of(child.id())?;
        Ok(Self {
            name,
            child,
            log: log.to_owned(),
            _watcher,
        })
    }

    /// The id of the process, and of its group.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Fails with the tail of the log if the process has ended.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.failure(&format!("ended ({status})"))),
        }
    }

    /// An error of this process, with the tail of its log.
    pub(crate) fn failure(&self, what: &str) -> Error {
        logged(format!("{} {what}", self.name), &self.log)
    }

    /// Asks the group to end, and kills what has not after the grace period.
    pub(crate) fn stop(&mut self) {
        groups::end(self.child.id(), groups::GRACE);
        let _ = self.child.wait();
    }

    /// Keeps it from going on, until it is killed.
    pub(crate) fn pause(&self) {
        groups::pause(self.child.id());
    }

    /// Kills the group without asking, as a crash does.
    pub(crate) fn kill(&mut self) {
        groups::kill(self.child.id());
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a tool to its end inside a step: its lines are the step's notes and go to `log`; an error holds the log's tail.
pub(crate) fn run(command: &mut Command, step: &Step, log: &Path) -> Result<String> {
    let mut file = create(log)?;
    let (status, text) = run_lines(command, |line| {
        // Cargo's messages for programs would bury what it tells people.
        if !line.starts_with('{') {
            step.note(line);
            output::append(&mut file, line);
        }
    })?;
    if !status.success() {
        return Err(logged(
            format!("{} failed ({status})", program(command)),
            log,
        ));
    }
    Ok(text)
}

/// Runs a tool and hands over every line of its output, in order; answers with the status and the whole text.
pub(crate) fn run_lines(
    command: &mut Command,
    on_line: impl FnMut(&str),
) -> Result<(ExitStatus, String)> {
    let (reader, mut child) = spawn_piped(command)?;
    let _watcher = Watcher::of(child.id())?;
    let text = output::read_lines(reader, on_line);
    let status = child.wait();
    groups::end(child.id(), groups::GRACE);
    Ok((status?, text))
}

/// Runs a quick tool and returns its standard output, or nothing if it is absent or fails.
pub(crate) fn ask(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn spawn_piped(command: &mut Command) -> Result<(PipeReader, Child)> {
    let (reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let child = spawn(command)?;
    // The command holds the pipe's writing end; while it does, the reader never sees the end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((reader, child))
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.stdin(Stdio::null()).process_group(0);
    groups::enter(|| command.spawn()).with_context(|| format!("cannot start {}", program(command)))
}

/// What a failed tool printed last: shown above the error's own line.
#[derive(Debug)]
pub(crate) struct Tail(String);

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Tail {}

fn logged(what: String, log: &Path) -> Error {
    Error::new(Tail(tail(log))).context(format!("{what}, its log is {}", log.display()))
}

fn create(log: &Path) -> Result<File> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    File::create(log).with_context(|| format!("cannot write {}", log.display()))
}

fn program(command: &Command) -> String {
    let name = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    match command.get_args().next() {
        Some(first) => format!("`{name} {}`", first.to_string_lossy()),
        None => format!("`{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn lines_of_both_streams_arrive_and_the_status_is_kept() {
        let mut lines = Vec::new();
        let (status, text) = run_lines(&mut shell("echo one; echo two >&2; exit 3"), |line| {
            lines.push(line.to_owned());
        })
        .unwrap();
        assert_eq!((status.code(), text.as_str()), (Some(3), "one\ntwo\n"));
        assert_eq!(lines, ["one", "two"]);
    }

    #[test]
    fn a_tool_that_is_absent_is_named() {
        let error = run_lines(&mut Command::new("no-such-tool-here"), |_| ()).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `no-such-tool-here`");
    }

    #[test]
    fn stopping_a_server_ends_what_it_started() {
        groups::adopt_orphans();
        let log = std::env::temp_dir().join(format!("xtask-process-{}.log", std::process::id()));
        let mut server =
            Process::start("the server", &mut shell("sleep 300 & echo $!; wait"), &log).unwrap();
        while tail(&log).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let grandchild: i32 = tail(&log).trim().parse().unwrap();
        server.stop();
        assert!(!groups::living(grandchild), "the grandchild lives on");
        std::fs::remove_file(log).unwrap();
    }
}
