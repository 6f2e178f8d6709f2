//! The JavaScript tools, exactly as package-lock.json pins them. Invariant: the stamp is written after the packages.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::node::require_npm;
use crate::build::stamp::Stamp;
use crate::process::run;
use crate::project::Project;
use crate::ui::Step;

/// The folder of the installed packages.
pub(super) fn install(project: &Project) -> Result<PathBuf> {
    let modules = project.path("node_modules");
    let stamp = || Stamp::new("npm").files(project, &["package.json", "package-lock.json"]);
    if stamp()?.holds(project, &modules) {
        return Ok(modules);
    }
    let _lock = project.lock_build()?;
    if stamp()?.holds(project, &modules) {
        return Ok(modules);
    }
    require_npm()?;
    let step = Step::start("installing the npm packages");
    // No package's own script runs: none of them needs it.
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(project.root());
    run(&mut npm, &step, &project.log("install-npm")).context(
        "the npm packages could not be installed: check the network, then run the command again",
    )?;
    stamp()?.write(project)?;
    step.done();
    Ok(modules)
}
