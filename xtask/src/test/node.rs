//! The parts that Node runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::cargo::{count, succeed};
use super::tally::Tally;
use crate::build;
use crate::project::Project;
use crate::setup::{Found, Tools};
use crate::stack::offline;

/// All tests of a folder, one file after the other: each starts a stack of its own.
pub(super) fn tests(
    project: &Project,
    tools: &Tools,
    folder: &str,
    programs: &[Found],
) -> Result<Tally> {
    build::all(project, tools)?;
    let mut node = tools.node();
    node.args(["--test", "--test-reporter=spec", "--test-concurrency=1"])
        .args(test_files(&project.path(folder))?);
    node.current_dir(project.root())
        .env("ONCEGATE_XTASK", std::env::current_exe()?);
    node.envs(programs.iter().map(|(variable, path)| (variable, path)));
    count(&mut node)
}

/// The core beside implementations of the same standards that others wrote.
pub(super) fn foreign(project: &Project, tools: &Tools) -> Result<Tally> {
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "build",
            "--package",
            "oncegate-tests",
            "--example",
            "decide",
        ])
        .current_dir(project.root());
    succeed(&mut cargo, "mend what the compiler names above")?;
    let mut node = tools.node();
    node.args(["--test", "--test-reporter=spec"])
        .args(test_files(&project.path("tests/foreign"))?);
    node.current_dir(project.root()).env(
        "ONCEGATE_DECIDE",
        project.path("target/debug/examples/decide"),
    );
    count(&mut node)
}

/// The tests that run inside workerd, beside the gate as built.
pub(super) fn workerd(project: &Project, tools: &Tools) -> Result<Tally> {
    build::all(project, tools)?;
    build::contract(project, tools)?;
    let mut vitest = tools.npm_command("vitest");
    vitest
        .args(["run", "--config", "tests/workerd/vitest.config.mjs"])
        .current_dir(project.root());
    offline(&mut vitest);
    count(&mut vitest)
}

/// The type tests of the SDK's package, against the package as built.
pub(super) fn types(project: &Project, tools: &Tools) -> Result<Tally> {
    build::all(project, tools)?;
    let mut tsc = tools.npm_command("tsc");
    tsc.args(["--project", "tests/types"])
        .current_dir(project.root());
    succeed(
        &mut tsc,
        "mend the types that tsc names above, in sdk/ or tests/types",
    )
}

pub(super) fn test_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder
        .read_dir()
        .with_context(|| format!("no tests: cannot read {}", folder.display()))?;
    let paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = paths
        .into_iter()
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    files.sort();
    Ok(files)
}
