//! The programs that tests start: browsers, Python, Go, and a broker. Invariant: a path that is handed out is a file; on Debian what is missing is installed
//! first, all of it at once.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::{apt, postgres};
use crate::project::Project;

/// A program that tests start: the variable that tells them where it is, Debian's package, and its names.
struct Program {
    variable: &'static str,
    package: &'static str,
    names: &'static [&'static str],
}

const CHROMIUM: Program = Program {
    variable: "ONCEGATE_CHROMIUM",
    package: "chromium",
    names: &["chromium", "chromium-browser", "google-chrome"],
};

/// Three engines. Firefox needs no driver, since it speaks WebDriver BiDi itself; WebKit's browser needs a display.
const ENGINES: [Program; 6] = [
    CHROMIUM,
    Program {
        variable: "ONCEGATE_CHROMEDRIVER",
        package: "chromium-driver",
        names: &["chromedriver"],
    },
    Program {
        variable: "ONCEGATE_FIREFOX",
        package: "firefox-esr",
        names: &["firefox-esr", "firefox"],
    },
    Program {
        variable: "ONCEGATE_WEBKIT_DRIVER",
        package: "webkit2gtk-driver",
        names: &["WebKitWebDriver"],
    },
    Program {
        variable: "ONCEGATE_WEBKIT",
        package: "webkit2gtk-driver",
        names: &["MiniBrowser"],
    },
    Program {
        variable: "ONCEGATE_XVFB",
        package: "xvfb",
        names: &["Xvfb"],
    },
];

/// For the examples of origins.
const PYTHON: Program = Program {
    variable: "ONCEGATE_PYTHON",
    package: "python3",
    names: &["python3"],
};

/// For the example in Go: the compiler, and the driver of the database, which is a folder of sources.
const GO: [Program; 2] = [
    Program {
        variable: "ONCEGATE_GO",
        package: "golang-go",
        names: &["go"],
    },
    Program {
        variable: "ONCEGATE_GO_PQ",
        package: "golang-github-lib-pq-dev",
        names: &["github.com/lib/pq/conn.go"],
    },
];

/// Where Debian keeps the sources of Go's libraries.
const GO_SOURCES: &str = "/usr/share/gocode/src";

/// For the certificates of database servers, and for signatures that Node does not make.
const OPENSSL: Program = Program {
    variable: "ONCEGATE_OPENSSL",
    package: "openssl",
    names: &["openssl"],
};

/// For the tests of the shop's messages.
const NATS: Program = Program {
    variable: "ONCEGATE_NATS_SERVER",
    package: "nats-server",
    names: &["nats-server"],
};

/// Where a browser lies that is in no search path.
const WEBKIT_FOLDERS: [&str; 2] = ["webkit2gtk-4.1", "webkit2gtk-4.0"];

/// A variable for the tests and what it says.
pub(crate) type Found = (&'static str, PathBuf);

/// Chromium alone.
pub(crate) fn chromium(project: &Project) -> Result<Vec<Found>> {
    all(project, "the browser tests need a browser", &[CHROMIUM])
}

/// Chromium, Firefox and WebKit, with what drives them.
pub(crate) fn engines(project: &Project) -> Result<Vec<Found>> {
    all(project, "the browser tests need a browser", &ENGINES)
}

/// What the tests of the gate start: for the examples of origins Python, Go and a client of PostgreSQL; for the signatures of webhooks
/// OpenSSL; for consumers NATS.
pub(crate) fn gate_tests(project: &Project) -> Result<Vec<Found>> {
    let what = "the tests of the gate need Python, Go, OpenSSL and NATS";
    let [go, driver] = GO;
    let mut found = all(project, what, &[PYTHON, go, driver, OPENSSL, NATS])?;
    let psql = postgres(project)?.server.with_file_name("psql");
    found.push(("ONCEGATE_PSQL", psql));
    Ok(found)
}

/// The broker NATS.
pub(crate) fn nats(project: &Project) -> Result<Vec<Found>> {
    all(project, "the tests of messages need NATS", &[NATS])
}

/// OpenSSL's program.
pub(crate) fn openssl(project: &Project) -> Result<PathBuf> {
    let found = all(project, "the database tests need OpenSSL", &[OPENSSL])?;
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn all(project: &Project, what: &str, programs: &[Program]) -> Result<Vec<Found>> {
    let mut missing: Vec<_> = absent(programs).map(|program| program.package).collect();
    missing.dedup();
    if !missing.is_empty() {
        apt::install(project, what, &missing)?;
    }
    if let Some(program) = absent(programs).next() {
        bail!(
            "{} was installed but is not found: put it into PATH",
            program.names[0]
        );
    }
    Ok(programs
        .iter()
        .filter_map(|program| Some((program.variable, program.find()?)))
        .collect())
}

fn absent(programs: &[Program]) -> impl Iterator<Item = &Program> {
    programs.iter().filter(|program| program.find().is_none())
}

impl Program {
    fn find(&self) -> Option<PathBuf> {
        let folders = folders();
        self.names
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
            .find(|path| path.is_file())
    }
}

/// The search path, and the folders in which distributions put WebKit's browser and the sources of Go's libraries.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let libraries = Path::new("/usr/lib").read_dir().into_iter().flatten();
    let libraries = libraries.filter_map(|entry| Some(entry.ok()?.path()));
    let more = ["/usr/libexec", "/usr/lib64", "/usr/lib"].map(PathBuf::from);
    for library in libraries.chain(more) {
        folders.extend(WEBKIT_FOLDERS.map(|name| library.join(name)));
    }
    folders.push(PathBuf::from(GO_SOURCES));
    folders
}
