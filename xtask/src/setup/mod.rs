//! Set-up: what the build and the tests need and the machine does not have yet. Invariant: a tool's folder exists only
//! when the tool is complete, so that a run which was cut off leaves nothing that a later one trusts.

mod apt;
mod cargo_tools;
mod databases;
mod lockfile;
mod node;
mod npm;
mod programs;
mod rust;
mod version;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::project::Project;

pub(crate) use databases::{Programs, mariadb, postgres};
pub(crate) use programs::{Found, chromium, engines, gate_tests, nats, openssl};
pub(crate) use rust::nightly_version;

/// Everything that a build may call, complete and in the right version.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    wasm_bindgen: PathBuf,
    worker_build: PathBuf,
    node: PathBuf,
    modules: PathBuf,
}

impl Tools {
    /// Installs what is missing.
    pub(crate) fn install(project: &Project) -> Result<Self> {
        let node = node::install(project)?;
        rust::install(project)?;
        let wasm_bindgen = cargo_tools::wasm_bindgen(project)?;
        let worker_build = cargo_tools::worker_build(project)?;
        let modules = npm::install(project)?;
        Ok(Self {
            wasm_bindgen,
            worker_build,
            node,
            modules,
        })
    }

    /// The wasm-bindgen command-line tool.
    pub(crate) fn wasm_bindgen(&self) -> PathBuf {
        self.wasm_bindgen.join("bin/wasm-bindgen")
    }

    /// The runner that `cargo test` starts for wasm tests.
    pub(crate) fn wasm_test_runner(&self) -> PathBuf {
        self.wasm_bindgen.join("bin/wasm-bindgen-test-runner")
    }

    /// The builder of Workers.
    pub(crate) fn worker_build(&self) -> PathBuf {
        self.worker_build.join("bin/worker-build")
    }

    /// A Node that is new enough for wrangler.
    pub(crate) fn node(&self) -> Command {
        let mut command = Command::new(&self.node);
        self.with_node_first(&mut command);
        command
    }

    /// The launcher script of an npm package.
    pub(crate) fn npm_bin(&self, name: &str) -> PathBuf {
        self.modules.join(".bin").join(name)
    }

    /// A command of an npm package, under the right Node.
    pub(crate) fn npm_command(&self, name: &str) -> Command {
        let mut command = self.node();
        command.arg(self.npm_bin(name));
        command
    }

    /// Puts the right Node first in the search path, for scripts that begin with `#!/usr/bin/env node`.
    pub(crate) fn with_node_first<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let folder = self.node.parent().map(Path::to_owned).unwrap_or_default();
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&rest));
        // Only a folder with a colon in its name cannot be joined; it cannot be searched either.
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command
    }
}

/// Makes a folder complete or not at all: `fill` works on a neighbour that is renamed when it succeeds.
fn complete(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = folder.with_file_name(format!(".unfinished-{name}"));
    remove(&unfinished)?;
    std::fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot create {}", unfinished.display()))?;
    let made = fill(&unfinished).and_then(|()| {
        std::fs::rename(&unfinished, folder)
            .with_context(|| format!("cannot put {} in place", folder.display()))
    });
    if made.is_err() {
        remove(&unfinished)?;
    }
    made
}

/// Removes a folder if it is there.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_could_not_be_filled_does_not_exist() {
        let base = std::env::temp_dir().join(format!("xtask-complete-{}", std::process::id()));
        let folder = base.join("tool-1.0");
        assert!(complete(&folder, |_| anyhow::bail!("no network")).is_err());
        assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
        complete(&folder, |inside| {
            Ok(std::fs::write(inside.join("bin"), "")?)
        })
        .unwrap();
        assert!(folder.join("bin").exists());
        remove(&base).unwrap();
    }
}
