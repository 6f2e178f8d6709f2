//! The SDK: the npm package `oncegate`, in sdk/dist.
//!
//! It is built by the nightly toolchain, as the edge is, for its size: a standard library that is compiled along with it,
//! optimised for size and without the texts of panics, is a sixth less to download.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::stamp::Stamp;
use super::{WORKSPACE, call, unless_stamped};
use crate::project::Project;
use crate::setup::{Tools, nightly_version, remove};
use crate::ui::Step;

const CRATE: &str = "oncegate_sdk";

/// One build of the crate.
struct Flavour {
    /// Names its logs.
    name: &'static str,
    /// What it asks of rustc beyond [`RUSTFLAGS`].
    rustflags: &'static str,
}

/// For browsers that run WebAssembly.
const WASM: Flavour = Flavour {
    name: "sdk",
    rustflags: "",
};

/// SHA-256 in a loop instead of unrolled is 7 KB less to download, to hash a few hundred bytes; and a panic that nobody
/// can read needs no text.
const RUSTFLAGS: &str =
    "--cfg sha2_backend_soft=\"compact\" -Zunstable-options -Cpanic=immediate-abort";

/// What rustc assumes of every browser.
const WASM_FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Builds what has changed.
pub(super) fn build(project: &Project, tools: &Tools) -> Result<()> {
    let dist = project.path("sdk/dist");
    let stamp = Stamp::new("sdk").files(project, &WORKSPACE)?.files(
        project,
        &["sdk", "package-lock.json", "xtask/src/build/sdk.rs"],
    )?;
    let stamp = stamp.text(&nightly_version());
    unless_stamped(project, &stamp, &dist, "building the SDK", |step| {
        let wasm = compile(project, step, &WASM)?;
        let glue = bind(project, tools, step, &wasm)?;
        shrink(project, tools, step, &glue)?;
        inline(&glue).context("the SDK's wasm could not be inlined")?;
        remove(&dist)?;
        bundle(project, tools, step, &glue, &dist)?;
        fs::copy(project.path("sdk/js/index.d.ts"), dist.join("index.d.ts"))
            .context("the SDK's types could not be copied")
            .map(drop)
    })
}

fn compile(project: &Project, step: &Step, flavour: &Flavour) -> Result<PathBuf> {
    let target = project.path("target/xtask/sdk-build");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["+nightly", "build", "--profile", "sdk"])
        .args(["--target", "wasm32-unknown-unknown"])
        .args(["--package", "oncegate-sdk"])
        .args(["-Zbuild-std=std,panic_abort"])
        .arg("-Zbuild-std-features=optimize_for_size")
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("RUSTFLAGS", [RUSTFLAGS, flavour.rustflags].join(" "));
    let log = format!("build-{}", flavour.name);
    call(project, &mut cargo, step, &log).context("the SDK does not build")?;
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

/// Optimises the wasm and gives its imports short names: every name ends in a hash, which no compression
/// makes smaller, and stands in both files.
fn shrink(project: &Project, tools: &Tools, step: &Step, glue: &Path) -> Result<()> {
    let (wasm, text) = (glue.join("engine_bg.wasm"), glue.join("engine.wat"));
    let mut optimise = tools.npm_command("wasm-opt");
    optimise
        .args(["-Oz", "--strip-target-features", "--strip-producers", "-S"])
        .args([&wasm, Path::new("-o"), &text]);
    call(project, &mut optimise, step, "shrink-sdk").context("wasm-opt refuses the SDK")?;
    shorten(&glue.join("engine.js"), &text).context("the SDK's imports could not be renamed")?;
    let mut assemble = tools.npm_command("wasm-as");
    assemble
        .args(WASM_FEATURES)
        .args([&text, Path::new("-o"), &wasm]);
    call(project, &mut assemble, step, "shrink-sdk")
        .context("wasm-as refuses the SDK")
        .map(drop)
}

fn shorten(script: &Path, text: &Path) -> Result<()> {
    let (mut glue, mut wasm) = (fs::read_to_string(script)?, fs::read_to_string(text)?);
    let imports: Vec<String> = glue.lines().filter_map(hashed_import).collect();
    for (number, name) in imports.iter().enumerate() {
        glue = glue.replace(name, &format!("i{number}"));
        wasm = wasm.replace(name, &format!("i{number}"));
    }
    fs::write(script, glue)?;
    fs::write(text, wasm)?;
    Ok(())
}

/// `__wbg_fetch_6371f061146e7178` of a line `__wbg_fetch_6371f061146e7178: function(…) {`
fn hashed_import(line: &str) -> Option<String> {
    let (name, _) = line.trim_start().split_once(": function(")?;
    let (_, hash) = name.rsplit_once('_')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| name.to_owned())
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
