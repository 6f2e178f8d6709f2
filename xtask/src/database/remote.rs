//! `cargo xtask database`: a server that a test controls by lines on standard input, `kill` and `start`, each answered by
//! one line of JSON on standard output. Invariant: it ends when its input ends, so that a test that dies leaves nothing
//! behind.

use std::io::{Write, stdin, stdout};
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::{Kind, Server};
use crate::project::Project;

/// Serves until the input ends.
pub(crate) fn serve(project: &Project, kind: Kind, folder: &Path) -> Result<()> {
    let mut server = Server::start(project, kind, folder)?;
    let url = json!({ "url": server.url() });
    answer(&url)?;
    for line in stdin().lines() {
        let result = obey(&mut server, line?.trim());
        answer(&match result {
            Ok(()) => url.clone(),
            Err(error) => json!({ "error": format!("{error:#}") }),
        })?;
    }
    Ok(())
}

fn obey(server: &mut Server, command: &str) -> Result<()> {
    match command {
        "kill" => server.kill(),
        "start" => server.start_again()?,
        _ => bail!("`{command}` is neither kill nor start"),
    }
    Ok(())
}

fn answer(value: &Value) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}
