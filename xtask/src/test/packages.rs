//! The package as its users get it: packed, installed beside the tools of tests/packages, and used there.
//!
//! Invariant: the projects stand in target/packages and find the package only as installed from its tarball.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::cargo::count;
use super::node::test_files;
use super::tally::Tally;
use crate::build;
use crate::build::stamp::Stamp;
use crate::process::run;
use crate::project::Project;
use crate::setup::{Tools, chromium};
use crate::ui::Step;

const TARBALL: &str = "oncegate.tgz";

pub(super) fn all(project: &Project, tools: &Tools) -> Result<Tally> {
    build::all(project, tools)?;
    let browser = chromium(project)?;
    let place = project.path("target/packages");
    build::copy(&project.path("tests/packages"), &place)?;
    install_tools(project, &place)?;
    install_package(project, &place)?;
    let mut node = tools.node();
    node.args(["--test", "--test-reporter=spec"])
        .args(test_files(&project.path("tests/packages"))?);
    node.current_dir(project.root())
        .env("ONCEGATE_PACKAGES", place)
        .env("ONCEGATE_XTASK", std::env::current_exe()?)
        .envs(browser);
    count(&mut node)
}

/// The bundlers, once: half a gigabyte.
fn install_tools(project: &Project, place: &Path) -> Result<()> {
    let pins = [
        "tests/packages/package.json",
        "tests/packages/package-lock.json",
    ];
    let stamp = Stamp::new("packages").files(project, &pins)?;
    if stamp.holds(project, &place.join("node_modules")) {
        return Ok(());
    }
    let step = Step::start("installing the tools that the package is tried with (about 30 s)");
    npm(project, place, &step, &["ci"]).context(
        "the tools that the package is tried with could not be installed: check the network, then run the command again",
    )?;
    stamp.write(project)?;
    step.done();
    Ok(())
}

/// The package, as `npm install` puts it in place.
fn install_package(project: &Project, place: &Path) -> Result<()> {
    let step = Step::start("packing and installing the package");
    let published = project.path("target/package");
    let name = npm(project, &published, &step, &["pack", "--silent"])?;
    std::fs::rename(published.join(name.trim()), place.join(TARBALL))
        .context("npm did not say where it has packed the package")?;
    npm(
        project,
        place,
        &step,
        &[
            "install",
            "--no-save",
            "--no-package-lock",
            &format!("./{TARBALL}"),
        ],
    )
    .context("the packed package cannot be installed")?;
    step.done();
    Ok(())
}

fn npm(project: &Project, folder: &Path, step: &Step, arguments: &[&str]) -> Result<String> {
    let mut npm = Command::new("npm");
    npm.args(arguments)
        .args([
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefer-offline",
        ])
        .current_dir(folder);
    run(&mut npm, step, &project.log("npm-packages"))
}
