//! What the page of the family needs beside the shop and its gate: routes, a queue, a job, and a second Worker that sends
//! messages. Invariant: all of it is added to wrangler.toml here, for this machine, and none of it is deployed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What is merged into the gate's configuration.
pub(crate) const GATE: &str = include_str!("gate.toml");

/// The folder of the sender in a state folder.
pub(super) const SENDER: &str = "sender";

/// Writes the sender into its folder; returns its configuration.
pub(super) fn write_sender(state: &Path) -> Result<PathBuf> {
    let folder = state.join(SENDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    super::write(&folder.join("sender.mjs"), include_str!("sender.mjs"))?;
    let config = folder.join("wrangler.toml");
    super::write(&config, include_str!("sender.toml"))?;
    Ok(config)
}
