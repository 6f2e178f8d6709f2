//! The parts that cargo runs.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::tally::Tally;
use crate::process::run_lines;
use crate::project::Project;
use crate::setup::{Found, Tools};

/// The crates that exist as wasm.
const SHELLS: [&str; 6] = [
    "--package",
    "oncegate-sdk",
    "--package",
    "oncegate-edge",
    "--package",
    "oncegate-contract",
];
const WASM: [&str; 2] = ["--target", "wasm32-unknown-unknown"];

pub(super) fn fmt(project: &Project) -> Result<Tally> {
    check(
        project,
        &["fmt", "--all", "--check"],
        "run `cargo fmt --all`",
    )
}

pub(super) fn clippy(project: &Project) -> Result<Tally> {
    let advice = "mend what clippy names above";
    let strict = ["--", "--deny", "warnings"];
    // The fuzz targets are no default members: their runtime needs a C++ compiler.
    for native in [&["--all-targets"][..], &["--package", "oncegate-fuzz"]] {
        let clippy = [&["clippy"], native, &strict[..]].concat();
        check(project, &clippy, advice)?;
    }
    // The ledger as a service imports it, for its own database and without the shop.
    for database in ["mysql", "postgres", "sqlite"] {
        let library = ["clippy", "--package", "oncegate-origin", "--lib"];
        let alone = ["--no-default-features", "--features", database];
        let clippy = [&library, &alone[..], &strict].concat();
        check(project, &clippy, advice)?;
    }
    check(
        project,
        &[&["clippy"], &WASM[..], &SHELLS[..], &strict[..]].concat(),
        advice,
    )
}

pub(super) fn doc(project: &Project) -> Result<Tally> {
    let mut cargo = cargo(project, &["doc", "--no-deps", "--document-private-items"]);
    succeed(
        cargo.env("RUSTDOCFLAGS", "--deny warnings"),
        "mend what rustdoc names above",
    )
}

pub(super) fn native(project: &Project) -> Result<Tally> {
    count(&mut cargo(project, &["test", "--no-fail-fast"]))
}

/// The origin's tests, on the server at this address.
pub(super) fn origin_on(project: &Project, url: &str) -> Result<Tally> {
    let package = ["test", "--package", "oncegate-origin", "--no-fail-fast"];
    // Those of the module `file` are about SQLite's one lock, wherever the others run.
    let tests = ["--test", "origin", "--", "--skip", "file::"];
    let mut cargo = cargo(project, &[&package[..], &tests].concat());
    cargo
        .env("ONCEGATE_TEST_DATABASE", url)
        .env("ONCEGATE_XTASK", std::env::current_exe()?);
    count(&mut cargo)
}

/// The tests of messages, with a broker of their own, on the server at this address.
pub(super) fn broker_on(project: &Project, url: &str, programs: &[Found]) -> Result<Tally> {
    let arguments = ["test", "--package", "oncegate-origin", "--test", "broker"];
    let mut cargo = cargo(project, &arguments);
    cargo.env("ONCEGATE_TEST_DATABASE", url);
    cargo.envs(programs.iter().map(|(name, path)| (name, path)));
    count(&mut cargo)
}

/// The tests of TLS, on the server at this address, which has this certificate.
pub(super) fn tls_on(project: &Project, url: &str, root: &Path) -> Result<Tally> {
    let package = ["test", "--package", "oncegate-origin", "--features", "tls"];
    let mut cargo = cargo(project, &[&package[..], &["--test", "tls"]].concat());
    cargo.env("ONCEGATE_TEST_DATABASE", url);
    cargo.env("ONCEGATE_TEST_ROOT", root);
    count(&mut cargo)
}

pub(super) fn wasm(project: &Project, tools: &Tools) -> Result<Tally> {
    let mut cargo = cargo(
        project,
        &[&["test", "--package", "oncegate-core", "--lib"], &WASM[..]].concat(),
    );
    cargo.env(
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER",
        tools.wasm_test_runner(),
    );
    count(tools.with_node_first(&mut cargo))
}

/// Links the whole core and its dependencies against `core` and `alloc` alone, then looks at what the result asks of its
/// host: a clock, a random number or a print would stand among the imports, or not link.
pub(super) fn pure(project: &Project, tools: &Tools) -> Result<Tally> {
    let target = project.path("target/xtask/purity");
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "+nightly",
            "build",
            "--release",
            "--package",
            "oncegate-purity",
            "-Zbuild-std=core,alloc",
        ])
        .args(WASM);
    cargo
        .current_dir(project.root())
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("CARGO_TARGET_DIR", &target);
    // Link-time optimisation would drop what nobody calls before the linker can see it.
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
    cargo.env(
        "RUSTFLAGS",
        "-Zpre-link-args=--whole-archive -Clink-arg=--no-gc-sections",
    );
    succeed(
        &mut cargo,
        "the core, or a crate that it uses, needs more than `core` and `alloc`",
    )?;
    let script = "const wasm = require('node:fs').readFileSync(process.argv[1]);\
                  const imports = WebAssembly.Module.imports(new WebAssembly.Module(wasm));\
                  console.log(`${wasm.length} bytes of wasm, imports:`, imports);\
                  process.exitCode = imports.length === 0 ? 0 : 1;";
    let mut node = tools.node();
    node.args(["--eval", script, "--"])
        .arg(target.join("wasm32-unknown-unknown/release/oncegate_purity.wasm"));
    succeed(
        &mut node,
        "the core asks its host for what is listed above: pass it in as an argument",
    )
}

/// Runs a command of which every line is shown, and counts its tests.
pub(super) fn count(command: &mut Command) -> Result<Tally> {
    let mut tally = Tally::default();
    let (status, _) = run_lines(command, |line| {
        println!("{line}");
        tally.read(line);
    })?;
    match (status.success(), tally) {
        (true, Tally { passed: 0, .. }) => bail!("no test ran"),
        // A crash after the last test, or before the first, is a failure that no runner counted.
        (false, Tally { failed: 0, .. }) => bail!("the tests broke off: see above ({status})"),
        _ => Ok(tally),
    }
}

/// Runs a command of which every line is shown; it must succeed.
pub(super) fn succeed(command: &mut Command, advice: &str) -> Result<Tally> {
    let (status, _) = run_lines(command, |line| println!("{line}"))?;
    if !status.success() {
        bail!("{advice} ({status})");
    }
    Ok(Tally::success())
}

fn check(project: &Project, arguments: &[&str], advice: &str) -> Result<Tally> {
    succeed(&mut cargo(project, arguments), advice)
}

fn cargo(project: &Project, arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(project.root());
    cargo
}
