//! Chromium for the browser tests.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{ask, run};
use crate::project::Project;
use crate::ui::Step;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const BY_HAND: &str = "install Chromium (Debian: `apt-get install chromium`)";

/// The path of a Chromium; on Debian it is installed when it is missing and this user may.
pub(crate) fn chromium(project: &Project) -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let step = Step::start("installing Chromium for the browser tests");
    for arguments in [
        &["update"][..],
        &["install", "--yes", "--no-install-recommends", "chromium"],
    ] {
        let mut command = apt_get()?;
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        run(&mut command, &step, &project.log("install-chromium"))
            .with_context(|| format!("Chromium could not be installed: {BY_HAND}"))?;
    }
    step.done();
    find().with_context(|| format!("Chromium was installed but is not in PATH: {BY_HAND}"))
}

fn find() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

fn apt_get() -> Result<Command> {
    if ask(Command::new("apt-get").arg("--version")).is_none() {
        bail!("the browser tests need Chromium: {BY_HAND}");
    }
    if ask(Command::new("id").arg("-u")).as_deref() == Some("0") {
        return Ok(Command::new("apt-get"));
    }
    if ask(Command::new("sudo").args(["-n", "true"])).is_none() {
        bail!("the browser tests need Chromium and this user may not install it: {BY_HAND}");
    }
    let mut command = Command::new("sudo");
    command.args(["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    Ok(command)
}
