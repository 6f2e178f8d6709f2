//! The fuzz targets: each is built, and fed its seeds and some thousand inputs made from them.
//!
//! libFuzzer needs no nightly toolchain: what it wants of the compiler are stable options. A longer hunt is
//! `cargo fuzz run <target>` with cargo-fuzz, or the built program itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::cargo::succeed;
use super::tally::Tally;
use crate::process::{ask, run_lines};
use crate::project::Project;

/// The instrumentation that libFuzzer steers by.
const INSTRUMENTED: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Inputs for each target: enough to walk through every branch that the seeds reach.
const RUNS: &str = "-runs=5000";

pub(super) fn all(project: &Project) -> Result<Tally> {
    let host = host()?;
    let target = project.path("target/fuzz");
    build(project, &target, &host)?;
    let mut tally = Tally::default();
    for name in targets(project)? {
        tally += run(project, &target.join(&host).join("fuzz").join(&name), &name)?;
    }
    Ok(tally)
}

fn build(project: &Project, target: &Path, host: &str) -> Result<Tally> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--package", "oncegate-fuzz", "--profile", "fuzz"])
        // With a target, build scripts and macros are left without the instrumentation.
        .args(["--target", host, "--target-dir"])
        .arg(target);
    cargo
        .current_dir(project.root())
        .env("RUSTFLAGS", INSTRUMENTED);
    succeed(
        &mut cargo,
        "the fuzz targets do not build; they need a C++ compiler (g++ or clang++)",
    )
}

/// Every target has a folder of seeds; a target without one is an error.
fn targets(project: &Project) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(project.path("fuzz/targets"))? {
        let path = entry?.path();
        let name = path.file_stem().context("a target without a name")?;
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn run(project: &Project, program: &Path, name: &str) -> Result<Tally> {
    let found = project.path(format!("target/fuzz/found/{name}"));
    if found.exists() {
        fs::remove_dir_all(&found)?;
    }
    fs::create_dir_all(&found)?;
    let mut command = Command::new(program);
    command
        .args([RUNS, "-seed=1", "-timeout=10", "-verbosity=0"])
        .arg(format!("-artifact_prefix={}/", found.display()))
        .args([&found, &project.path(format!("fuzz/corpus/{name}"))]);
    let (status, text) = run_lines(&mut command, |_| {})?;
    if !status.success() {
        println!("{text}");
        bail!(
            "the fuzz target {name} failed ({status}); the input is in {}",
            found.display()
        );
    }
    println!("ok {name}");
    Ok(Tally::success())
}

fn host() -> Result<String> {
    let version = ask(Command::new("rustc").arg("-vV")).context("rustc does not run")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host
        .context("rustc does not say for which host it is")?
        .to_owned())
}
