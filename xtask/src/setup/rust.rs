//! The parts of the Rust toolchains: the wasm target, and for the edge and the SDK a nightly with the standard library's source.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{ask, run};
use crate::project::Project;
use crate::ui::Step;

const WASM: &str = "wasm32-unknown-unknown";

/// Adds the parts that are missing.
pub(super) fn install(project: &Project) -> Result<()> {
    let stable =
        sysroot(None).context("rustc does not run: install Rust with rustup, https://rustup.rs")?;
    if !has_target(&stable) {
        rustup(
            project,
            "rust-target",
            "the wasm target",
            &["target", "add", WASM],
        )?;
    }
    let nightly = nightly(project)?;
    if !has_source(&nightly) {
        rustup(
            project,
            "rust-src",
            "the standard library's source (nightly)",
            &["component", "add", "rust-src", "--toolchain", "nightly"],
        )?;
    }
    if !has_target(&nightly) {
        rustup(
            project,
            "rust-nightly-target",
            "the wasm target (nightly)",
            &["target", "add", WASM, "--toolchain", "nightly"],
        )?;
    }
    Ok(())
}

/// The version of the nightly compiler that builds the edge and the SDK.
pub(crate) fn nightly_version() -> String {
    ask(Command::new("rustc").args(["+nightly", "--version"])).unwrap_or_default()
}

fn nightly(project: &Project) -> Result<PathBuf> {
    if let Some(found) = sysroot(Some("+nightly")) {
        return Ok(found);
    }
    let install = [
        "toolchain",
        "install",
        "nightly",
        "--profile",
        "minimal",
        "--no-self-update",
    ];
    rustup(
        project,
        "rust-nightly",
        "the nightly toolchain (the edge and the SDK are built with it)",
        &install,
    )?;
    sysroot(Some("+nightly")).context(
        "the nightly toolchain was installed but does not run: try `rustc +nightly --version`",
    )
}

fn sysroot(toolchain: Option<&str>) -> Option<PathBuf> {
    ask(Command::new("rustc")
        .args(toolchain)
        .args(["--print", "sysroot"]))
    .map(PathBuf::from)
}

fn has_target(sysroot: &Path) -> bool {
    sysroot.join("lib/rustlib").join(WASM).join("lib").exists()
}

fn has_source(sysroot: &Path) -> bool {
    sysroot
        .join("lib/rustlib/src/rust/library/Cargo.lock")
        .exists()
}

fn rustup(project: &Project, log: &str, what: &str, arguments: &[&str]) -> Result<()> {
    let by_hand = format!("`rustup {}`", arguments.join(" "));
    if ask(Command::new("rustup").arg("--version")).is_none() {
        bail!(
            "{what} is missing and rustup is not installed: install rustup (https://rustup.rs), then run {by_hand}"
        );
    }
    let step = Step::start(format!("installing {what}"));
    run(
        Command::new("rustup").args(arguments),
        &step,
        &project.log(log),
    )
    .with_context(|| {
        format!("{what} could not be installed: check the network, then run {by_hand}")
    })?;
    step.done();
    Ok(())
}
