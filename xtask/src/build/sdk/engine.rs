//! The engine: one Rust build, its glue, and its two encodings.
//!
//! Invariant: both encodings are made from the same WebAssembly and are driven by the same glue. That is why it uses
//! nothing beyond what can be written as plain JavaScript: WebAssembly's first version, and copying memory as a whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::super::call;
use crate::project::Project;
use crate::setup::{Tools, remove};
use crate::ui::Step;

const CRATE: &str = "oncegate_sdk";

/// What the engine's WebAssembly may use.
const FEATURES: [&str; 4] = [
    "--mvp-features",
    "--enable-mutable-globals",
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
];

/// `immediate-abort` and a standard library built for it leave out the texts of panics that nobody reads in a page, and
/// SHA-256 in a loop instead of unrolled hashes a few hundred bytes fast enough: together a third of the download.
const RUSTFLAGS: &str = "-Ctarget-cpu=mvp -Ctarget-feature=+bulk-memory -Zunstable-options -Cpanic=immediate-abort --cfg sha2_backend_soft=\"compact\"";

/// How sdk/js starts the engine: it gives the imports to an encoding, and its exports to the glue.
const SEAM: &str = "
export const imports = __wbg_get_imports;
export function setUp(exports) {
    __wbg_finalize_init({ exports });
}
";

/// The folder with the glue `engine.js`, and the encodings `engine.wasm`, `wasm.js` (the same as text) and `script.js`.
pub(super) fn build(project: &Project, tools: &Tools, step: &Step) -> Result<PathBuf> {
    let wasm = compile(project, step)?;
    let folder = bind(project, tools, step, &wasm)?;
    optimise(project, tools, step, &folder)?;
    inline(&folder).context("the engine's wasm cannot be written as text")?;
    translate(project, tools, step, &folder)?;
    Ok(folder)
}

fn compile(project: &Project, step: &Step) -> Result<PathBuf> {
    let target = project.path("target/xtask/sdk-build");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["+nightly", "build", "--profile", "sdk"])
        .args(["--target", "wasm32-unknown-unknown"])
        .args(["--package", "oncegate-sdk"])
        .args([
            "-Zbuild-std=std,panic_abort",
            "-Zbuild-std-features=optimize_for_size",
        ])
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", RUSTFLAGS);
    call(project, &mut cargo, step, "build-sdk").context("the SDK does not build")?;
    Ok(target
        .join("wasm32-unknown-unknown/sdk")
        .join(format!("{CRATE}.wasm")))
}

fn bind(project: &Project, tools: &Tools, step: &Step, wasm: &Path) -> Result<PathBuf> {
    let folder = project.path("target/xtask/sdk-glue");
    remove(&folder)?;
    let mut command = Command::new(tools.wasm_bindgen());
    command
        .args(["--target", "web", "--no-typescript"])
        .args(["--out-name", "engine", "--out-dir"])
        .arg(&folder)
        .arg(wasm);
    call(project, &mut command, step, "bind-sdk").context("the SDK's glue could not be made")?;
    Ok(folder)
}

/// Optimises the wasm and gives its imports short names: every name ends in a hash, which no compression
/// makes smaller, and stands in both files.
fn optimise(project: &Project, tools: &Tools, step: &Step, folder: &Path) -> Result<()> {
    let text = folder.join("engine.wat");
    let mut optimise = tools.npm_command("wasm-opt");
    optimise
        .args(FEATURES)
        .args([
            "-Oz",
            "--strip-debug",
            "--strip-producers",
            "--strip-target-features",
            "-S",
        ])
        .args([&folder.join("engine_bg.wasm"), Path::new("-o"), &text]);
    call(project, &mut optimise, step, "shrink-sdk").context("wasm-opt refuses the SDK")?;
    adapt(&folder.join("engine.js"), &text)?;
    let mut assemble = tools.npm_command("wasm-as");
    assemble
        .args(FEATURES)
        .args([&text, Path::new("-o"), &folder.join("engine.wasm")]);
    call(project, &mut assemble, step, "shrink-sdk")
        .context("wasm-as refuses the SDK")
        .map(drop)
}

fn adapt(script: &Path, text: &Path) -> Result<()> {
    let mut glue = with_fresh_views(&fs::read_to_string(script)?)?;
    let mut wasm = fs::read_to_string(text)?;
    let imports: Vec<String> = glue.lines().filter_map(hashed_import).collect();
    for (number, name) in imports.iter().enumerate() {
        glue = glue.replace(name, &format!("i{number}"));
        wasm = wasm.replace(name, &format!("i{number}"));
    }
    let exports: Vec<String> = wasm.lines().filter_map(glues_export).collect();
    for (number, name) in exports.iter().enumerate() {
        glue = glue.replace(&format!("wasm.{name}"), &format!("wasm.e{number}"));
        wasm = wasm.replace(
            &format!("(export \"{name}\""),
            &format!("(export \"e{number}\""),
        );
    }
    fs::write(script, glue + SEAM)?;
    fs::write(text, without_global_exports(&wasm))?;
    Ok(())
}

/// Numbers that wasm-bindgen exports for a way to end that this glue does not have.
fn without_global_exports(wasm: &str) -> String {
    let is_one =
        |line: &&str| line.trim_start().starts_with("(export ") && line.contains(" (global ");
    wasm.lines()
        .filter(|line| !is_one(line))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// `__wbindgen_free` of a line ` (export "__wbindgen_free" (func $__wbindgen_free))`: what only the glue calls.
fn glues_export(line: &str) -> Option<String> {
    let (name, target) = line
        .trim_start()
        .strip_prefix("(export \"")?
        .split_once('"')?;
    let is_glues = name.starts_with("__wbindgen") || name.starts_with("wasm_bindgen");
    (is_glues && target.starts_with(" (func")).then(|| name.to_owned())
}

/// When WebAssembly's memory grows, its old buffer is detached, and the glue looks for that. In plain JavaScript the old
/// one lives on, so that the glue would read and write where nobody else does: it has to compare the buffers.
fn with_fresh_views(glue: &str) -> Result<String> {
    let bytes = "cachedUint8ArrayMemory0";
    let data = "cachedDataViewMemory0";
    let fresh = |view: &str| format!("{view}.buffer !== wasm.memory.buffer");
    let glue = glue
        .replace(&format!("{bytes}.byteLength === 0"), &fresh(bytes))
        .replace(
            &format!(
                "{data}.buffer.detached === true || ({data}.buffer.detached === undefined && {})",
                fresh(data)
            ),
            &fresh(data),
        );
    if !glue.contains(&fresh(bytes))
        || glue.contains(".byteLength === 0")
        || glue.contains(".detached")
    {
        bail!(
            "wasm-bindgen's glue looks for grown memory in another way than it did: see `with_fresh_views`"
        );
    }
    Ok(glue)
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
fn inline(folder: &Path) -> Result<()> {
    let wasm = fs::read(folder.join("engine.wasm"))?;
    let digits: String = wasm.iter().map(|byte| format!("{byte:02x}")).collect();
    let module = format!("export default \"{digits}\";\n");
    Ok(fs::write(folder.join("wasm.js"), module)?)
}

/// Writes the wasm as plain JavaScript: a function from imports to exports.
fn translate(project: &Project, tools: &Tools, step: &Step, folder: &Path) -> Result<()> {
    let script = folder.join("script.js");
    let mut command = tools.npm_command("wasm2js");
    command.args(FEATURES).args([
        Path::new("-Oz"),
        &folder.join("engine.wasm"),
        Path::new("-o"),
        &script,
    ]);
    call(project, &mut command, step, "translate-sdk").context("wasm2js refuses the SDK")?;
    let made = fs::read_to_string(&script)?;
    let function = function_of(&made)
        .context("wasm2js writes its modules in another way than it did: see `function_of`")?;
    Ok(fs::write(script, function)?)
}

/// The function alone: the module that wasm2js makes calls it when it is imported.
fn function_of(module: &str) -> Option<String> {
    let (_import, rest) = module.split_once(";\n")?;
    let (function, _calls) = rest.split_once("\nvar retasmFunc = asmFunc(")?;
    Some(format!("{function}\nexport default asmFunc;\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_on_memory_are_compared_with_the_memory() {
        let glue = "if (cachedDataViewMemory0 === null || cachedDataViewMemory0.buffer.detached === true || (cachedDataViewMemory0.buffer.detached === undefined && cachedDataViewMemory0.buffer !== wasm.memory.buffer)) {}\n\
                    if (cachedUint8ArrayMemory0 === null || cachedUint8ArrayMemory0.byteLength === 0) {}";
        assert_eq!(
            with_fresh_views(glue).unwrap(),
            "if (cachedDataViewMemory0 === null || cachedDataViewMemory0.buffer !== wasm.memory.buffer) {}\n\
             if (cachedUint8ArrayMemory0 === null || cachedUint8ArrayMemory0.buffer !== wasm.memory.buffer) {}"
        );
        assert!(with_fresh_views("if (view.buffer.detached) {}").is_err());
    }

    #[test]
    fn only_names_with_a_hash_are_shortened() {
        let found = hashed_import("        __wbg_fetch_6371f061146e7178: function(arg0) {");
        assert_eq!(found.as_deref(), Some("__wbg_fetch_6371f061146e7178"));
        assert_eq!(
            hashed_import("        __wbindgen_throw: function(arg0) {"),
            None
        );
    }

    #[test]
    fn only_what_the_glue_calls_is_renamed() {
        let found = glues_export(r#" (export "__wbindgen_free" (func $__wbindgen_free))"#);
        assert_eq!(found.as_deref(), Some("__wbindgen_free"));
        assert_eq!(glues_export(r#" (export "ask" (func $ask))"#), None);
        assert_eq!(glues_export(r#" (export "memory" (memory $0))"#), None);
    }

    #[test]
    fn the_function_is_taken_out_of_its_module() {
        let module = "import * as a from './a.js';\n\nfunction asmFunc(imports) {}\n\nvar retasmFunc = asmFunc({});\nexport var memory = 1;\n";
        assert_eq!(
            function_of(module).unwrap(),
            "\nfunction asmFunc(imports) {}\n\nexport default asmFunc;\n"
        );
        assert!(function_of("function asmFunc() {}").is_none());
    }
}
