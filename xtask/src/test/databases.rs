//! The origin's tests on servers. Invariant: each server is started for the run, and its data removed after it.

use anyhow::Result;

use super::cargo;
use super::tally::Tally;
use crate::database::{Kind, Server};
use crate::project::Project;
use crate::setup::{nats, remove};

/// The suite that `native` runs on SQLite, once on each server.
pub(super) fn all(project: &Project) -> Result<Tally> {
    let (mut total, broker) = (Tally::default(), nats(project)?);
    for kind in [Kind::Postgres, Kind::Mysql] {
        let folder = std::env::temp_dir().join(format!("oncegate-{kind:?}-{}", std::process::id()));
        remove(&folder)?;
        let server = Server::start(project, kind, &folder)?;
        let (url, root) = (server.url(), server.certificate());
        let tallies = cargo::origin_on(project, &url).and_then(|tally| {
            let broker = cargo::broker_on(project, &url, &broker)?;
            Ok([tally, broker, cargo::tls_on(project, &url, &root)?])
        });
        drop(server);
        remove(&folder)?;
        tallies?.into_iter().for_each(|tally| total += tally);
    }
    Ok(total)
}
