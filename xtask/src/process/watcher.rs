//! The last resort: a shell that waits for the end of this program and then kills one group. Invariant: it holds the
//! reading end of a pipe whose writing end only this program has, so that it also sees an end by SIGKILL.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::groups;

/// Watches until it is dropped.
pub(super) struct Watcher {
    /// With its standard input, the pipe's writing end.
    child: Child,
}

impl Watcher {
    /// Kills the group of this leader when this program has ended.
    pub(super) fn of(leader: u32) -> Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("read -r _; kill -KILL -{leader}")]);
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let child = groups::enter(|| shell.spawn()).context("cannot start `sh`")?;
        Ok(Self { child })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        groups::kill(self.child.id());
        // Already buried where the group's end was waited for.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_group_dies_when_the_pipe_closes() {
        let mut sleeper = Command::new("sleep")
            .arg("300")
            .process_group(0)
            .spawn()
            .unwrap();
        let mut watcher = Watcher::of(sleeper.id()).unwrap();
        drop(watcher.child.stdin.take());
        let deadline = Instant::now() + Duration::from_secs(10);
        while sleeper.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the group lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_watcher_that_is_dropped_first_kills_nobody() {
        let mut sleeper = Command::new("sleep")
            .arg("300")
            .process_group(0)
            .spawn()
            .unwrap();
        drop(Watcher::of(sleeper.id()).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        assert!(sleeper.try_wait().unwrap().is_none());
        groups::kill(sleeper.id());
        let _ = sleeper.wait();
    }
}
