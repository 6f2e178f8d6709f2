//! The programs of MariaDB and PostgreSQL. Invariant: installing them makes no cluster and starts no service; the servers
//! of the tests have data folders of their own, and the machine's are never touched.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::apt;
use crate::project::Project;

/// What a server is made and asked with.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// Makes a data folder.
    pub(crate) install: PathBuf,
    /// The server.
    pub(crate) server: PathBuf,
    /// Says whether the server answers.
    pub(crate) ask: PathBuf,
}

/// Debian's MariaDB: the packages with the programs alone, without a user, a folder or a service.
pub(crate) fn mariadb(project: &Project) -> Result<Programs> {
    let find = || {
        Some(Programs {
            install: in_path("mariadb-install-db")?,
            server: in_path("mariadbd")?,
            ask: in_path("mariadb")?,
        })
    };
    if find().is_none() {
        let packages = ["mariadb-server-core", "mariadb-client-core"];
        apt::install(project, "the database tests need MariaDB", &packages)?;
    }
    find().context("MariaDB was installed but mariadbd is not found: put it into PATH")
}

/// Debian's PostgreSQL.
pub(crate) fn postgres(project: &Project) -> Result<Programs> {
    if find_postgres().is_none() {
        // The package would make a cluster, and start it.
        apt::write(
            "/etc/postgresql-common/createcluster.d/oncegate.conf",
            "create_main_cluster = false",
        )?;
        apt::install(
            project,
            "the database tests need PostgreSQL",
            &["postgresql"],
        )?;
    }
    find_postgres()
        .context("PostgreSQL was installed but initdb is not found below /usr/lib/postgresql")
}

/// The newest version, in the folder in which Debian keeps several.
fn find_postgres() -> Option<Programs> {
    let versions = Path::new("/usr/lib/postgresql").read_dir().ok()?.flatten();
    let newest = versions
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let folder = entry.path().join("bin");
            folder.join("initdb").is_file().then_some((version, folder))
        })
        .max()?;
    Some(Programs {
        install: newest.1.join("initdb"),
        server: newest.1.join("postgres"),
        ask: newest.1.join("pg_isready"),
    })
}

/// In the search path, or where Debian keeps servers, which is not in every user's.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
