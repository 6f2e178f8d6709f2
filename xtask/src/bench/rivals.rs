//! Other Workers that execute once, measured in the gate's rounds. Invariant: they stand as the gate does, each alone in a workerd of
//! its own with objects on SQLite in the same place, and are sent what the gate is sent.
//!
//! Whoever compares brings the Worker, bundled: nothing of it is part of this project.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail};

use super::origin::Origin;
use super::runtime::{self, Runtime};
use crate::project::Project;
use crate::setup::Tools;
use crate::stack::ports::Ports;

/// What a rival is called in the tables, and its module.
#[derive(Clone, Debug)]
pub(super) struct Rival {
    name: String,
    module: PathBuf,
}

impl FromStr for Rival {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once('=') {
            Some((name, module)) if !name.is_empty() && !module.is_empty() => Ok(Self {
                name: name.to_owned(),
                module: module.into(),
            }),
            _ => bail!("`{text}` is not NAME=FILE: write `--rival other=/tmp/other.js`"),
        }
    }
}

/// A rival that listens.
pub(super) struct Running {
    pub(super) name: String,
    pub(super) runtime: Runtime,
    /// Nobody else is given its port meanwhile.
    _ports: Ports,
}

/// Starts each of them in a folder of its own.
pub(super) fn start(
    project: &Project,
    tools: &Tools,
    state: &Path,
    origin: &Origin,
    rivals: &[Rival],
) -> Result<Vec<Running>> {
    let mut running = Vec::new();
    for (index, Rival { name, module }) in rivals.iter().enumerate() {
        let folder = state.join(format!("rival-{index}"));
        fs::create_dir_all(folder.join("objects"))
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let ports = Ports::claim(project, 0)?;
        runtime::write_rival(&folder, ports.gate(), &origin.url(), module)?;
        running.push(Running {
            name: name.clone(),
            runtime: Runtime::start(project, tools, &folder, ports.gate())
                .with_context(|| format!("the rival {name} does not start"))?,
            _ports: ports,
        });
    }
    Ok(running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_has_a_name_and_a_module() {
        let rival: Rival = "other=/tmp/a=b.js".parse().unwrap();
        assert_eq!(
            (&*rival.name, &*rival.module),
            ("other", Path::new("/tmp/a=b.js"))
        );
        for text in ["other", "=/tmp/a.js", "other="] {
            let error = text.parse::<Rival>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is not NAME=FILE")),
                "{error}"
            );
        }
    }
}
