//! The SDK: the npm package `oncegate`. Invariant: sdk/package.json's `exports` is the one list of entries; what it names
//! below dist/ is what is built, and target/package holds exactly what is published.

mod bundle;
mod engine;
mod stage;

use anyhow::{Context, Result};

use super::stamp::Stamp;
use super::{WORKSPACE, unless_stamped};
use crate::process::ask;
use crate::project::Project;
use crate::setup::{Tools, nightly_version, remove};

/// What goes into the package beside the crates.
const SOURCES: [&str; 3] = ["sdk", "package-lock.json", "xtask/src/build/sdk"];

/// Builds what has changed.
pub(super) fn build(project: &Project, tools: &Tools) -> Result<()> {
    let dist = project.path("sdk/dist");
    let stamp = Stamp::new("sdk")
        .files(project, &WORKSPACE)?
        .files(project, &SOURCES)?
        .files(project, &stage::DOCUMENTS)?
        .text(&nightly_version());
    unless_stamped(project, &stamp, &dist, "building the SDK", |step| {
        let encodings = engine::build(project, tools, step)?;
        remove(&dist)?;
        bundle::build(project, tools, step, &encodings, &dist)?;
        stage::build(project, tools, step, &dist)
    })
}

/// Writes docs/sdk/api.md, which is part of the checkout: only who changes the types has to.
pub(super) fn write_reference(project: &Project, tools: &Tools) -> Result<()> {
    let mut node = tools.node();
    node.arg(project.path("sdk/api.mjs"));
    ask(&mut node)
        .context("the API reference cannot be made of the types: `node sdk/api.mjs`")
        .map(drop)
}

/// Prints how large the package's files are beside their budgets, and the hash for pages that load its script.
pub(super) fn print_sizes(project: &Project, tools: &Tools) -> Result<()> {
    let mut node = tools.node();
    node.arg(project.path("sdk/size.mjs"));
    let sizes =
        ask(&mut node).context("the SDK's files cannot be measured: `node sdk/size.mjs`")?;
    println!("{sizes}");
    Ok(())
}
