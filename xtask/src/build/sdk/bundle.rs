//! The package's scripts and types, in sdk/dist. An entry that brings the engine is named in [`MAIN`]; every other one is
//! found in sdk/package.json and shares the engine of the default entry, which it imports from its own folder: so it works
//! in a page without a bundler, too.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::call;
use crate::project::Project;
use crate::setup::Tools;
use crate::ui::Step;

/// A script with an engine: its file in dist/, its source in sdk/js, and the encoding that it brings.
struct Script {
    file: &'static str,
    source: &'static str,
    encoding: &'static str,
}

const fn script(file: &'static str, source: &'static str, encoding: &'static str) -> Script {
    Script {
        file,
        source,
        encoding,
    }
}

const MAIN: [Script; 9] = [
    script("index.js", "index", "inline"),
    script("index.cjs", "index", "inline"),
    script("js.js", "index", "script"),
    script("js.cjs", "index", "script"),
    script("wasm.js", "wasm", "file"),
    script("wasm.cjs", "wasm", "file"),
    script("workerd.js", "index", "module"),
    script("oncegate.min.js", "index", "inline"),
    // Loaded by the others where WebAssembly is forbidden.
    script("engine-js.js", "encoding/script", "script"),
];

/// Makes everything in dist/.
pub(super) fn build(
    project: &Project,
    tools: &Tools,
    step: &Step,
    encodings: &Path,
    dist: &Path,
) -> Result<()> {
    let bundler = Bundler {
        project,
        tools,
        step,
        encodings,
        dist,
    };
    MAIN.iter().try_for_each(|script| bundler.main(script))?;
    for name in entries(project)? {
        if !MAIN
            .iter()
            .any(|script| script.file == format!("{name}.js"))
        {
            bundler.sharing(&name)?;
        }
        bundler.types(&name)?;
    }
    fs::copy(encodings.join("engine.wasm"), dist.join("oncegate.wasm"))
        .context("the SDK's wasm cannot be copied")
        .map(drop)
}

/// The names of the entries with scripts: `index` of `.`, `form` of `./form`.
fn entries(project: &Project) -> Result<Vec<String>> {
    let text = fs::read_to_string(project.path("sdk/package.json"))
        .context("sdk/package.json cannot be read")?;
    let package: Value = serde_json::from_str(&text).context("sdk/package.json is no JSON")?;
    let exports = package["exports"]
        .as_object()
        .context("sdk/package.json has no `exports`")?;
    let scripts = exports.iter().filter(|(_, target)| target.is_object());
    Ok(scripts
        .map(|(path, _)| match path.strip_prefix("./") {
            Some(name) => name.to_owned(),
            None => "index".to_owned(),
        })
        .collect())
}

struct Bundler<'a> {
    project: &'a Project,
    tools: &'a Tools,
    step: &'a Step,
    encodings: &'a Path,
    dist: &'a Path,
}

impl Bundler<'_> {
    fn main(&self, script: &Script) -> Result<()> {
        let encoding = self.source(&format!("encoding/{}.js", script.encoding));
        self.bundle(
            script.source,
            script.file,
            &[
                format!("--alias:oncegate-engine={}", self.encodings.display()),
                format!("--alias:oncegate-encoding={encoding}"),
                "--external:./engine-js.js".to_owned(),
                "--external:./oncegate.wasm".to_owned(),
            ],
        )
    }

    /// Frameworks stay outside as well: the application has its own.
    fn sharing(&self, name: &str) -> Result<()> {
        for extension in ["js", "cjs"] {
            let file = format!("{name}.{extension}");
            self.bundle(name, &file, &["--packages=external".to_owned()])?;
            self.rewrite(&file, |text| with_neighbours(&text, extension))?;
        }
        Ok(())
    }

    fn types(&self, name: &str) -> Result<()> {
        let source = self.source(&format!("{name}.d.ts"));
        let text =
            fs::read_to_string(&source).with_context(|| format!("{source} cannot be read"))?;
        for (extension, neighbour) in [("d.ts", "js"), ("d.cts", "cjs")] {
            let file = self.dist.join(format!("{name}.{extension}"));
            fs::write(&file, with_neighbours(&text, neighbour))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }

    fn bundle(&self, source: &str, file: &str, more: &[String]) -> Result<()> {
        let mut command = self.tools.npm_command("esbuild");
        command
            .arg(self.source(&format!("{source}.js")))
            .args([
                "--bundle",
                "--minify",
                "--target=es2022",
                "--charset=utf8",
                "--log-level=warning",
            ])
            .args(format(file))
            .args(more)
            .arg(format!("--outfile={}", self.dist.join(file).display()));
        call(self.project, &mut command, self.step, "bundle-sdk")
            .with_context(|| format!("{file} of the SDK's package could not be put together"))
            .map(drop)
    }

    fn rewrite(&self, file: &str, change: impl FnOnce(String) -> String) -> Result<()> {
        let path = self.dist.join(file);
        let changed = change(fs::read_to_string(&path)?);
        fs::write(&path, changed).with_context(|| format!("cannot write {}", path.display()))
    }

    fn source(&self, file: &str) -> String {
        self.project.path("sdk/js").join(file).display().to_string()
    }
}

/// How a file is to be loaded, by its name.
fn format(file: &str) -> &'static [&'static str] {
    match file {
        // Where no module knows its own address, the caller has to know the file's.
        _ if file.ends_with(".cjs") => &["--format=cjs", "--define:import.meta.url=undefined"],
        _ if file.ends_with(".min.js") => &["--format=iife", "--global-name=oncegate"],
        _ => &["--format=esm"],
    }
}

/// Imports of the package's other entries, and of files beside this one, by the names that they have in dist/.
fn with_neighbours(text: &str, extension: &str) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, specifier, after)) = next_import(rest) {
        changed.push_str(before);
        changed.push_str(&neighbour(specifier, extension));
        rest = after;
    }
    changed + rest
}

/// Text up to an import's opening quote, what is imported, and the rest from the closing quote on.
fn next_import(text: &str) -> Option<(&str, &str, &str)> {
    let starts = ["from\"", "from \"", "require(\"", "import(\"", "import\""];
    let begins = starts
        .iter()
        .filter_map(|start| text.find(start).map(|place| place + start.len()))
        .min()?;
    let ends = begins + text[begins..].find('"')?;
    Some((&text[..begins], &text[begins..ends], &text[ends..]))
}

fn neighbour(specifier: &str, extension: &str) -> String {
    if specifier == "oncegate" {
        return format!("./index.{extension}");
    }
    match specifier.strip_prefix("oncegate/") {
        Some(name) => format!("./{name}.{extension}"),
        None if specifier.starts_with("./") => specifier.replace(".js", &format!(".{extension}")),
        None => specifier.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_entries_are_imported_from_the_same_folder() {
        let text = r#"import{a as b}from"oncegate";import"oncegate/form";import{x}from"react";on("oncegate",1)"#;
        assert_eq!(
            with_neighbours(text, "js"),
            r#"import{a as b}from"./index.js";import"./form.js";import{x}from"react";on("oncegate",1)"#
        );
        assert_eq!(
            with_neighbours(r#"var a=require("oncegate"),b=require("vue")"#, "cjs"),
            r#"var a=require("./index.cjs"),b=require("vue")"#
        );
        assert_eq!(
            with_neighbours("export * from \"./index.js\";", "cjs"),
            "export * from \"./index.cjs\";"
        );
    }

    #[test]
    fn every_entry_has_a_source_and_types() {
        let project = Project::find().unwrap();
        for name in entries(&project).unwrap() {
            let is_main = MAIN
                .iter()
                .any(|script| script.file == format!("{name}.js"));
            let source = project.path(format!("sdk/js/{name}.js"));
            assert!(is_main || source.exists(), "{name} has no script in sdk/js");
            let types = project.path(format!("sdk/js/{name}.d.ts"));
            assert!(types.exists(), "{name} has no types in sdk/js");
        }
    }
}
