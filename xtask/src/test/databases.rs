//! The origin's tests on servers. Invariant: each server is started for the run, and its data removed after it.

use anyhow::Result;

use super::cargo;
use super::tally::Tally;
use crate::database::{Kind, Server};
use crate::project::Project;
use crate::setup::remove;

/// The suite that `native` runs on SQLite, once on each server.
pub(super) fn all(project: &Project) -> Result<Tally> {
    let mut total = Tally::default();
    for kind in [Kind::Postgres, Kind::Mysql] {
        let folder = std::env::temp_dir().join(format!("oncegate-{kind:?}-{}", std::process::id()));
        remove(&folder)?;
        let server = Server::start(project, kind, &folder)?;
        let tally = cargo::origin_on(project, &server.url());
        drop(server);
        remove(&folder)?;
        total += tally?;
    }
    Ok(total)
}
