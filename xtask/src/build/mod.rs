//! Building the tiers. Invariant: a step whose input is unchanged does nothing, so that `build` may run at any time,
//! also nested inside `wrangler dev`.

mod contract;
mod edge;
mod origin;
mod sdk;
mod site;
pub(crate) mod stamp;

use std::path::Path;

use anyhow::Result;

use crate::process::run;
use crate::project::Project;
use crate::setup::Tools;
use crate::ui::Step;
use stamp::Stamp;

pub(crate) use contract::build as contract;
pub(crate) use origin::build as origin;
pub(crate) use site::copy;

/// What the crates of the workspace have in common as input.
const WORKSPACE: [&str; 3] = ["Cargo.toml", "Cargo.lock", "core"];

/// Builds the SDK, the edge and the site.
pub(crate) fn all(project: &Project, tools: &Tools) -> Result<()> {
    let _lock = project.lock_build()?;
    sdk::build(project, tools)?;
    edge::build(project, tools)?;
    site::build(project)
}

/// Writes the SDK's API reference anew.
pub(crate) fn write_reference(project: &Project, tools: &Tools) -> Result<()> {
    sdk::write_reference(project, tools)
}

/// Prints the sizes of what a browser downloads, beside their budgets.
pub(crate) fn print_sizes(project: &Project, tools: &Tools) -> Result<()> {
    sdk::print_sizes(project, tools)
}

/// Does a step unless its stamp holds. The stamp was taken before the work, so that a file which is changed meanwhile is
/// seen as changed by the next run.
fn unless_stamped(
    project: &Project,
    stamp: &Stamp,
    output: &Path,
    title: &str,
    make: impl FnOnce(&Step) -> Result<()>,
) -> Result<()> {
    if stamp.holds(project, output) {
        return Ok(());
    }
    let step = Step::start(title);
    make(&step)?;
    stamp.write(project)?;
    step.done();
    Ok(())
}

/// Runs one command of a step in the checkout.
fn call(
    project: &Project,
    command: &mut std::process::Command,
    step: &Step,
    log: &str,
) -> Result<String> {
    if command.get_current_dir().is_none() {
        command.current_dir(project.root());
    }
    run(command, step, &project.log(log))
}
