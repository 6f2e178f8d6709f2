//! The edge: the Worker as wasm with its JavaScript glue, in target/gate. Invariant: a file there is always whole, since a
//! running gate watches it; worker-build writes elsewhere.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::stamp::Stamp;
use super::{WORKSPACE, call, unless_stamped};
use crate::project::Project;
use crate::setup::{Tools, nightly_version};

/// What every release of workerd and wasm-bindgen reads; newer nightlies would emit the newer exceptions.
const EXCEPTIONS: &str = "-Cllvm-args=-wasm-use-legacy-eh";

/// Builds what has changed.
pub(super) fn build(project: &Project, tools: &Tools) -> Result<()> {
    let output = project.path("target/gate/index_bg.wasm");
    let stamp = Stamp::new("edge")
        .files(project, &WORKSPACE)?
        .files(project, &["edge-worker", "store", "package-lock.json"])?;
    let stamp = stamp
        .text(&nightly_version())
        .text(EXCEPTIONS)
        .text(&tools.worker_build().to_string_lossy());
    unless_stamped(project, &stamp, &output, "building the edge", |step| {
        call(
            project,
            &mut worker_build(project, tools),
            step,
            "build-edge",
        )
        .context("the edge does not build")?;
        publish(project)
    })
}

/// Puts what was built where the gate reads it.
fn publish(project: &Project) -> Result<()> {
    let gate = project.path("target/gate");
    fs::create_dir_all(&gate).with_context(|| format!("cannot create {}", gate.display()))?;
    for name in ["index_bg.wasm", "index.js"] {
        let (copy, place) = (gate.join(format!("{name}.new")), gate.join(name));
        fs::copy(project.path("edge-worker/build").join(name), &copy)
            .and_then(|_| fs::rename(&copy, &place))
            .with_context(|| format!("cannot write {}", place.display()))?;
    }
    Ok(())
}

/// Every tool is handed over by path: worker-build would download those that it misses.
fn worker_build(project: &Project, tools: &Tools) -> Command {
    let mut command = Command::new(tools.worker_build());
    command
        .args(["--release", "--panic-unwind"])
        .current_dir(project.path("edge-worker"));
    command.env("WASM_BINDGEN_BIN", tools.wasm_bindgen());
    command
        .env("WASM_OPT_BIN", tools.npm_bin("wasm-opt"))
        .env("ESBUILD_BIN", tools.npm_bin("esbuild"));
    command
        .env("RUSTFLAGS", EXCEPTIONS)
        .env_remove("RUSTUP_TOOLCHAIN");
    tools.with_node_first(&mut command);
    command
}
