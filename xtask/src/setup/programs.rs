//! The programs that tests start: browsers, Python, and a broker. Invariant: a path that is handed out is a file; on Debian what is missing is installed
//! first, all of it at once.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::apt;
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

/// Python 3.
pub(crate) fn python(project: &Project) -> Result<Vec<Found>> {
    all(project, "the tests of the examples need Python", &[PYTHON])
}

/// The broker NATS.
pub(crate) fn nats(project: &Project) -> Result<Vec<Found>> {
    all(project, "the tests of messages need NATS", &[NATS])
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

/// The search path, and the folders in which distributions put WebKit's browser.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let libraries = Path::new("/usr/lib").read_dir().into_iter().flatten();
    let libraries = libraries.filter_map(|entry| Some(entry.ok()?.path()));
    let more = ["/usr/libexec", "/usr/lib64", "/usr/lib"].map(PathBuf::from);
    for library in libraries.chain(more) {
        folders.extend(WEBKIT_FOLDERS.map(|name| library.join(name)));
    }
    folders
}
