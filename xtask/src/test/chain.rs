//! The parts that run the whole chain, and the Worker as it is deployed.

use anyhow::Result;

use super::cargo::succeed;
use super::tally::Tally;
use crate::project::Project;
use crate::setup::{Tools, remove};
use crate::stack::{Plan, offline};
use crate::up;

/// What `cargo xtask up --check` does, on free ports and a state folder of its own.
pub(super) fn purchase(project: &Project, _tools: &Tools) -> Result<Tally> {
    let state = std::env::temp_dir().join(format!("oncegate-chain-{}", std::process::id()));
    let plan = Plan {
        state: state.clone(),
        port: 0,
        fresh: true,
        family: true,
        overrides: Vec::new(),
        foreign_origin: None,
    };
    up::run(project, &plan, true)?;
    remove(&state)?;
    Ok(Tally::success())
}

/// wrangler takes the checkout's own configuration and packs the Worker, without sending it anywhere.
pub(super) fn deploy(project: &Project, tools: &Tools) -> Result<Tally> {
    let mut wrangler = tools.npm_command("wrangler");
    wrangler
        .args(["deploy", "--dry-run", "--outdir"])
        .arg(project.path("target/xtask/deploy"));
    wrangler.current_dir(project.root());
    offline(&mut wrangler);
    succeed(&mut wrangler, "wrangler refuses the Worker: see above")
}
