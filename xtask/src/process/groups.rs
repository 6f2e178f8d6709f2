//! The list of living process groups. Invariant: a group enters the list in the same locked turn in which it starts, and
//! the end of this program takes the lock for good, so no group can start behind its back.

use std::collections::BTreeSet;
use std::io::Result;
use std::process::{Child, exit};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill as signal_process, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::ui::say;

/// How long a group may take to end by itself before it is killed.
pub(super) const GRACE: Duration = Duration::from_secs(4);
const POLL: Duration = Duration::from_millis(10);
/// Places in what the system says of a process.
const STATE: usize = 0;
const PARENT: usize = 1;

static LIVING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Starts a group leader and lists its group.
pub(super) fn enter(spawn: impl FnOnce() -> Result<Child>) -> Result<Child> {
    let mut living = living_groups();
    let child = spawn()?;
    living.insert(raw(child.id()));
    Ok(child)
}

/// Asks a group to end, waits, kills what is left, and takes it off the list.
pub(super) fn end(leader: u32, grace: Duration) {
    end_groups(&[raw(leader)], grace);
    living_groups().remove(&raw(leader));
}

/// Kills a group at once and takes it off the list.
pub(super) fn kill(leader: u32) {
    end_groups(&[raw(leader)], Duration::ZERO);
    living_groups().remove(&raw(leader));
}

/// Keeps a process from going on, until it is killed.
pub(super) fn pause(process: u32) {
    // It may have ended.
    let _ = signal_process(Pid::from_raw(raw(process)), Signal::SIGSTOP);
}

/// Ends every process that this program started, also those that left their group.
pub(crate) fn end_everything() {
    end_listed(&mut living_groups());
}

/// From now on SIGINT, SIGTERM and SIGHUP end every process and then this program, with the usual exit code.
pub(crate) fn end_on_signals() -> Result<()> {
    adopt_orphans();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let mut living = living_groups();
            end_listed(&mut living);
            say("\nended by a signal, with everything that was started");
            exit(128 + signal);
        }
    });
    Ok(())
}

/// Whether a process exists and is no corpse.
#[cfg(test)]
pub(super) fn living(process: i32) -> bool {
    signal_process(Pid::from_raw(process), None) != Err(Errno::ESRCH)
}

fn living_groups() -> MutexGuard<'static, BTreeSet<i32>> {
    // A panic elsewhere must not keep the clean-up from running.
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end_listed(living: &mut BTreeSet<i32>) {
    let groups: Vec<i32> = living.iter().copied().collect();
    end_groups(&groups, GRACE);
    living.clear();
    kill_orphans();
}

fn end_groups(groups: &[i32], grace: Duration) {
    let deadline = Instant::now() + grace;
    if !grace.is_zero() {
        groups
            .iter()
            .for_each(|&group| send(group, Signal::SIGTERM));
        while Instant::now() < deadline && groups.iter().any(|&group| !gone(group)) {
            sleep(POLL);
        }
    }
    let stubborn: Vec<i32> = groups
        .iter()
        .copied()
        .filter(|&group| !gone(group))
        .collect();
    stubborn
        .iter()
        .for_each(|&group| send(group, Signal::SIGKILL));
    let deadline = Instant::now() + Duration::from_secs(2);
    while Instant::now() < deadline && stubborn.iter().any(|&group| !gone(group)) {
        sleep(POLL);
    }
}

/// Buries the group's dead that are ours to bury, then asks whether anyone is left.
fn gone(group: i32) -> bool {
    let ours = Pid::from_raw(-group);
    while matches!(waitpid(ours, Some(WaitPidFlag::WNOHANG)), Ok(status) if status.pid().is_some())
    {
    }
    killpg(Pid::from_raw(group), None) == Err(Errno::ESRCH)
}

fn send(group: i32, signal: Signal) {
    // The only expected error is that the group has just ended.
    let _ = killpg(Pid::from_raw(group), signal);
}

fn raw(id: u32) -> i32 {
    i32::try_from(id).expect("process ids fit into i32 on every Unix")
}

/// Makes this process the parent of orphaned descendants, so that browsers which lead their own group are found at the end.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Refused only by kernels before 3.4; then the groups alone must do.
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Kills children outside the listed groups, generation by generation.
fn kill_orphans() {
    let deadline = Instant::now() + Duration::from_secs(2);
    while Instant::now() < deadline {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            let _ = signal_process(child, Signal::SIGKILL);
            let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
        }
        sleep(POLL);
    }
}

fn children() -> Vec<Pid> {
    let children = children_of(std::process::id());
    children.into_iter().map(Pid::from_raw).collect()
}

/// The children of a process; empty where there is no `/proc`.
pub(crate) fn children_of(process: u32) -> Vec<i32> {
    let process = process.to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| stat(*id, PARENT).as_deref() == Some(process.as_str()))
        .collect()
}

/// Whether nothing of a process is left but, at most, what its parent has yet to hear.
pub(crate) fn is_over(process: i32) -> bool {
    stat(process, STATE).is_none_or(|state| state == "Z")
}

/// What the system says of a process, by its place after the command's name.
fn stat(id: i32, place: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The command's name stands in parentheses and may hold anything, spaces and parentheses included.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(place).map(str::to_owned)
}
