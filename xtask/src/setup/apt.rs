//! Packages of the system. Invariant: where this user may not install them, or where they have other names, nothing is
//! tried, and the error says what to install.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{ask, run};
use crate::project::Project;
use crate::ui::Step;

/// Installs packages of Debian. `what` is what they are for: "the browser tests need Chromium".
pub(super) fn install(project: &Project, what: &str, packages: &[&str]) -> Result<()> {
    let by_hand = format!(
        "{what}: install it (Debian: `apt-get install {}`)",
        packages.join(" ")
    );
    let _lock = project.lock_tools()?;
    let step = Step::start(format!("installing {} (apt)", packages.join(", ")));
    let log = project.log("install-apt");
    let options = [
        "--yes",
        "--no-install-recommends",
        "-o",
        "DPkg::Lock::Timeout=300",
    ];
    let install = [&["install"], &options[..], packages].concat();
    for arguments in [&["update"][..], &install] {
        let mut command = apt_get(&by_hand)?;
        command.args(arguments);
        run(&mut command, &step, &log).with_context(|| by_hand.clone())?;
    }
    step.done();
    Ok(())
}

/// Writes a line of configuration for a package that is about to be installed.
pub(super) fn write(path: &str, line: &str) -> Result<()> {
    let script = "mkdir -p \"$(dirname \"$1\")\" && printf '%s\\n' \"$2\" > \"$1\"";
    let mut command = as_root(&format!("write the line `{line}` into {path}"))?;
    command.args(["sh", "-c", script, "sh", path, line]);
    let written = command.status().context("cannot start `sh`")?;
    match written.success() {
        true => Ok(()),
        false => bail!("cannot write {path} ({written})"),
    }
}

fn apt_get(by_hand: &str) -> Result<Command> {
    if ask(Command::new("apt-get").arg("--version")).is_none() {
        bail!("{by_hand}");
    }
    let mut command = as_root(by_hand)?;
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    Ok(command)
}

fn as_root(by_hand: &str) -> Result<Command> {
    let mut command = Command::new("env");
    if ask(Command::new("id").arg("-u")).as_deref() != Some("0") {
        if ask(Command::new("sudo").args(["-n", "true"])).is_none() {
            bail!("{by_hand}; this user may not");
        }
        command = Command::new("sudo");
        command.args(["-n", "env"]);
    }
    Ok(command)
}
