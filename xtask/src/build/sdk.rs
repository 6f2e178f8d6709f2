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
        shrink(project, tools, step, &glue.join(format!("{CRATE}_bg.wasm")))?;
        assemble(project, &glue, &dist).context("the SDK's package could not be put together")
    })
}

fn compile(project: &Project, step: &Step) -> Result<PathBuf> {
    let target = project.path("target/xtask/sdk-build");
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "build",
            "--release",
            "--target",
            "wasm32-unknown-unknown",
            "--package",
            "oncegate-sdk",
        ])
        .env("CARGO_TARGET_DIR", &target);
    call(project, &mut cargo, step, "build-sdk").context("the SDK does not build")?;
    Ok(target
        .join("wasm32-unknown-unknown/release")
        .join(format!("{CRATE}.wasm")))
}

fn bind(project: &Project, tools: &Tools, step: &Step, wasm: &Path) -> Result<PathBuf> {
    let glue = project.path("target/xtask/sdk-glue");
    remove(&glue)?;
    let mut command = Command::new(tools.wasm_bindgen());
    command
        .args(["--target", "web", "--out-dir"])
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

/// The package: what is written by hand in sdk/js, and the glue with its wasm.
fn assemble(project: &Project, glue: &Path, dist: &Path) -> Result<()> {
    remove(dist)?;
    fs::create_dir_all(dist)?;
    for folder in [project.path("sdk/js"), glue.to_owned()] {
        for entry in
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?
        {
            let file = entry?.path();
            if file.is_file() {
                fs::copy(&file, dist.join(file.file_name().unwrap_or_default()))?;
            }
        }
    }
    Ok(())
}
