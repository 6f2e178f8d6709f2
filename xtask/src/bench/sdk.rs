//! What a page pays for the SDK: its size, and the time until its engine stands. The time has a budget, which is held here and in
//! no test: a machine that is busy with something else would fail it.

use anyhow::{Result, bail};
use clap::Args;

use crate::build;
use crate::process::run_lines;
use crate::project::Project;
use crate::setup::{Tools, chromium};

/// How to measure the SDK.
#[derive(Args)]
pub(crate) struct Sdk {
    /// How often each entry is started, in turns; the first round comes on top
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u16).range(15..))]
    rounds: u16,
}

/// Prints sizes and times; fails above a budget.
pub(super) fn run(project: &Project, tools: &Tools, sdk: &Sdk) -> Result<()> {
    build::print_sizes(project, tools)?;
    let mut node = tools.node();
    node.arg(project.path("xtask/src/bench/startup.mjs"))
        .arg("--dist")
        .arg(project.path("sdk/dist"))
        .args(["--rounds", &sdk.rounds.to_string()])
        .envs(chromium(project)?);
    let (status, _) = run_lines(&mut node, |line| println!("{line}"))?;
    if !status.success() {
        bail!("the SDK does not start within its budget, or not at all: see above");
    }
    Ok(())
}
