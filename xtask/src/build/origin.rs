//! The origin: the reference shop server, a debug build.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::call;
use crate::project::Project;
use crate::ui::Step;

/// Builds the server and returns its path.
pub(crate) fn build(project: &Project) -> Result<PathBuf> {
    let step = Step::start("building the origin");
    let mut cargo = Command::new("cargo");
    cargo.args([
        "build",
        "--package",
        "oncegate-origin",
        "--bin",
        "oncegate-origin",
        "--message-format",
        "json-render-diagnostics",
    ]);
    let printed =
        call(project, &mut cargo, &step, "build-origin").context("the origin does not build")?;
    let path = executable(&printed)
        .context("cargo built no oncegate-origin: is its [[bin]] still in origin/Cargo.toml?")?;
    step.done();
    Ok(path)
}

/// The program's path among cargo's messages: it depends on settings that only cargo knows.
fn executable(messages: &str) -> Option<PathBuf> {
    let parsed = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    parsed
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_the_messages_of_cargo() {
        let messages = "   Compiling x\n{\"reason\":\"compiler-artifact\",\"executable\":null}\n{\"executable\":\"/t/oncegate-origin\"}\n{\"reason\":\"build-finished\"}\n";
        assert_eq!(
            executable(messages),
            Some(PathBuf::from("/t/oncegate-origin"))
        );
        assert_eq!(executable("warning: nothing\n"), None);
    }
}
