//! The SDK: the npm package `oncegate`, in sdk/dist.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::stamp::Stamp;
use super::{WORKSPACE, call, unless_stamped};
use crate::process::ask;
use crate::project::Project;
use crate::setup::{Tools, remove};
use crate::ui::Step;

const CRATE: &str = "oncegate_sdk";

/// Builds what has changed.
pub(super) fn build(project: &Project, tools: &Tools) -> Result<()> {
    let dist = project.path("sdk/dist");
    let stamp = Stamp::new("sdk").files(project, &WORKSPACE)?.files(
        project,
        &["sdk", "package-lock.json", "xtask/src/build/sdk.rs"],
    )?;
    let stamp = stamp.text(&ask(Command::new("rustc").arg("--version")).unwrap_or_default());
    unless_stamped(project, &stamp, &dist, "building the SDK", |step| {
        let wasm = compile(project, step)?;
        let glue = bind(project, tools, step, &wasm)?;
        shrink(project, tools, step, &glue.join("engine_bg.wasm"))?;
        inline(&glue).context("the SDK's wasm could not be inlined")?;
        remove(&dist)?;
        bundle(project, tools, step, &glue, &dist)?;
        fs::copy(project.path("sdk/js/index.d.ts"), dist.join("index.d.ts"))
            .context("the SDK's types could not be copied")
            .map(drop)
    })
}

fn compile(project: &Project, step: &Step) -> Result<PathBuf> {
    let target = project.path("target/xtask/sdk-build");
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "build",
            "--profile",
            "sdk",
            "--target",
            "wasm32-unknown-unknown",
            "--package",
            "oncegate-sdk",
        ])
        .env("CARGO_TARGET_DIR", &target)
        // SHA-256 in a loop instead of unrolled: 7 KB less to download, to hash a few hundred bytes.
        .env("RUSTFLAGS", "--cfg sha2_backend_soft=\"compact\"");
    call(project, &mut cargo, step, "build-sdk").context("the SDK does not build")?;
    Ok(target
        .join("wasm32-unknown-unknown/sdk")
        .join(format!("{CRATE}.wasm")))
}

fn bind(project: &Project, tools: &Tools, step: &Step, wasm: &Path) -> Result<PathBuf> {
    let glue = project.path("target/xtask/sdk-glue");
    remove(&glue)?;
    let mut command = Command::new(tools.wasm_bindgen());
    command
        .args(["--target", "web", "--no-typescript"])
        .args(["--out-name", "engine", "--out-dir"])
        .arg(&glue)
        .arg(wasm);
    call(project, &mut command, step, "bind-sdk").context("the SDK's glue could not be made")?;
    Ok(glue)
}

fn shrink(project: &Project, tools: &Tools, step: &Step, wasm: &Path) -> Result<()> {
    let mut command = tools.npm_command("wasm-opt");
    command.arg("-Oz").arg(wasm).arg("-o").arg(wasm);
    call(project, &mut command, step, "shrink-sdk")
        .context("wasm-opt refuses the SDK")
        .map(drop)
}

/// Writes the wasm as text. In hexadecimal, because gzip still finds the repetitions in it: in base64 the
/// compressed package is a sixth larger.
fn inline(glue: &Path) -> Result<()> {
    let wasm = fs::read(glue.join("engine_bg.wasm"))?;
    let digits: String = wasm.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(
        glue.join("wasm.js"),
        format!("export default \"{digits}\";\n"),
    )?;
    Ok(())
}

/// One file of sdk/js, the glue and the wasm: one import works in a page without a bundler.
fn bundle(project: &Project, tools: &Tools, step: &Step, glue: &Path, dist: &Path) -> Result<()> {
    let mut command = tools.npm_command("esbuild");
    command
        .arg(project.path("sdk/js/index.js"))
        .args(["--bundle", "--minify", "--format=esm", "--target=es2022"])
        .args(["--charset=utf8", "--log-level=warning"])
        .arg(format!("--alias:oncegate-engine={}", glue.display()))
        .arg(format!("--outfile={}", dist.join("index.js").display()));
    call(project, &mut command, step, "bundle-sdk")
        .context("the SDK's package could not be put together")
        .map(drop)
}
