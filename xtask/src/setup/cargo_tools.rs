//! Tools built by `cargo install`, once per machine and version.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::lockfile::locked_version;
use super::{complete, remove};
use crate::process::run;
use crate::project::Project;
use crate::ui::{Step, say};

/// The builder must be of the same release as the `worker` crate.
const WORKER_BUILD: &str = "0.8.7";

/// The folder of the wasm-bindgen tools, in exactly the version of the crate: any other refuses to work on its output.
pub(super) fn wasm_bindgen(project: &Project) -> Result<PathBuf> {
    let lock =
        std::fs::read_to_string(project.path("Cargo.lock")).context("Cargo.lock cannot be read")?;
    install(
        project,
        "wasm-bindgen-cli",
        &locked_version(&lock, "wasm-bindgen")?,
        "about 2 min",
    )
}

/// The folder of worker-build.
pub(super) fn worker_build(project: &Project) -> Result<PathBuf> {
    install(project, "worker-build", WORKER_BUILD, "about 2 min")
}

fn install(project: &Project, name: &str, version: &str, time: &str) -> Result<PathBuf> {
    let folder = project.tool(name, version);
    if folder.exists() {
        return Ok(folder);
    }
    let _lock = project.lock_tools()?;
    if !folder.exists() {
        let step = Step::start(format!(
            "building {name} {version} (once per machine, {time})"
        ));
        complete(&folder, |unfinished| {
            build(project, name, version, unfinished, &step)
        })?;
        step.done();
    }
    Ok(folder)
}

fn build(project: &Project, name: &str, version: &str, root: &Path, step: &Step) -> Result<()> {
    let target = root.with_file_name(format!(".building-{name}"));
    let log = project.log(&format!("install-{name}"));
    let attempt = |locked| {
        run(
            &mut cargo_install(name, version, locked, root, &target),
            step,
            &log,
        )
    };
    // Without `--locked` as the second try: a crate's lock may name a release that the registry at hand does not serve.
    let built = attempt(true).or_else(|_| {
        say(&format!(
            "       {name} does not build from its own lock file; trying without"
        ));
        attempt(false)
    });
    remove(&target)?;
    built.with_context(|| {
        format!("{name} could not be built: check the network, then run the command again")
    })?;
    Ok(())
}

/// A debug build: it takes half the time of a release build and is fast enough.
fn cargo_install(name: &str, version: &str, locked: bool, root: &Path, target: &Path) -> Command {
    let mut command = Command::new("cargo");
    command
        .args(["install", "--debug", "--version", version])
        .arg("--root")
        .arg(root)
        .env("CARGO_TARGET_DIR", target);
    command.args(locked.then_some("--locked")).arg(name);
    command
}
