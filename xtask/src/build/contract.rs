//! The store's contract as wasm, for the tests inside workerd, in target/contract.

use std::process::Command;

use anyhow::{Context, Result};

use super::stamp::Stamp;
use super::{WORKSPACE, call, unless_stamped};
use crate::project::Project;
use crate::setup::Tools;

const CRATE: &str = "oncegate-contract";

/// Builds what has changed.
pub(crate) fn build(project: &Project, tools: &Tools) -> Result<()> {
    let glue = project.path("target/contract");
    let output = glue.join("bundle.js");
    let stamp = Stamp::new("contract").files(project, &WORKSPACE)?.files(
        project,
        &["store", "tests/contract", "edge-worker/src/store.rs"],
    )?;
    unless_stamped(project, &stamp, &output, "building the contract", |step| {
        let mut cargo = Command::new("cargo");
        cargo.args([
            "build",
            "--target",
            "wasm32-unknown-unknown",
            "--package",
            CRATE,
        ]);
        call(project, &mut cargo, step, "build-contract").context("the contract does not build")?;
        let mut bind = Command::new(tools.wasm_bindgen());
        bind.args(["--target", "web", "--no-typescript"])
            .args(["--out-name", "contract", "--out-dir"])
            .arg(&glue)
            .arg(project.path("target/wasm32-unknown-unknown/debug/oncegate_contract.wasm"));
        call(project, &mut bind, step, "bind-contract")
            .context("the contract's glue could not be made")?;
        // One file: the tests' loader does not find the glue's own snippets.
        let mut bundle = tools.npm_command("esbuild");
        bundle
            .arg(glue.join("contract.js"))
            .args(["--bundle", "--format=esm", "--external:cloudflare:*"])
            .arg(format!("--outfile={}", output.display()));
        call(project, &mut bundle, step, "bundle-contract")
            .context("the contract's glue could not be bundled")
            .map(drop)
    })
}
