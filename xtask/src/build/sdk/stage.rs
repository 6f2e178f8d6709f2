//! The package as it is published, in target/package: sdk/package.json, dist/, the licences, and the README with the hash
//! of the script that pages load by its address.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::super::call;
use crate::project::Project;
use crate::setup::{Tools, remove};
use crate::ui::Step;

/// What stands beside dist/ in the package, from the top of the checkout.
pub(super) const DOCUMENTS: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Stands in sdk/README.md for the hash.
const PLACEHOLDER: &str = "{{integrity}}";

/// Puts everything together.
pub(super) fn build(project: &Project, tools: &Tools, step: &Step, dist: &Path) -> Result<()> {
    let package = project.path("target/package");
    remove(&package)?;
    fs::create_dir_all(package.join("dist"))?;
    for entry in fs::read_dir(dist)? {
        let file = entry?.path();
        fs::copy(
            &file,
            package
                .join("dist")
                .join(file.file_name().unwrap_or_default()),
        )?;
    }
    for name in DOCUMENTS {
        fs::copy(project.path(name), package.join(name))
            .with_context(|| format!("{name} cannot be copied into the package"))?;
    }
    fs::copy(
        project.path("sdk/package.json"),
        package.join("package.json"),
    )?;
    let mut node = tools.node();
    node.arg(project.path("sdk/size.mjs")).arg("--integrity");
    let integrity = call(project, &mut node, step, "stage-sdk")?;
    let readme = fs::read_to_string(project.path("sdk/README.md"))?;
    if !readme.contains(PLACEHOLDER) {
        bail!(
            "sdk/README.md does not name {PLACEHOLDER}: pages that load the script need its hash"
        );
    }
    let readme = readme.replace(PLACEHOLDER, integrity.trim());
    fs::write(package.join("README.md"), readme).context("the package's README cannot be written")
}
