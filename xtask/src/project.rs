//! Where things are. Invariant: what a build makes stays in this checkout, what every checkout can share stands in the
//! cache, and nothing is written anywhere else.

use std::env;
use std::fs::{File, TryLockError, create_dir_all};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::ui::Step;

/// The checkout and the folders that belong to it.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    root: PathBuf,
    cache: PathBuf,
}

impl Project {
    /// The checkout that `cargo xtask` was called in.
    pub(crate) fn find() -> Result<Self> {
        // Cargo sets the variable for `cargo xtask`; a test that starts the program itself has only what was compiled in.
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .ancestors()
            .find(|folder| folder.join("Cargo.lock").exists());
        let root = root.with_context(|| {
            format!(
                "no Cargo.lock above {}: call `cargo xtask` inside the checkout",
                manifest.display()
            )
        })?;
        Ok(Self {
            root: root.to_owned(),
            cache: cache_folder(|name| env::var_os(name).map(PathBuf::from))?,
        })
    }

    /// A path inside the checkout.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The top of the checkout.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a tool that all checkouts share.
    pub(crate) fn tool(&self, name: &str, version: &str) -> PathBuf {
        self.cache.join("tools").join(format!("{name}-{version}"))
    }

    /// The log of a step of building or setting up.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.path("target/xtask/log").join(format!("{name}.log"))
    }

    /// Waits until no other run works on the shared tools.
    pub(crate) fn lock_tools(&self) -> Result<Lock> {
        Lock::wait(&self.cache.join("tools.lock"), "installs tools")
    }

    /// Claims a port among all runs of this user; nothing if another run has it.
    pub(crate) fn claim_port(&self, port: u16) -> Result<Option<Lock>> {
        Lock::take(&self.cache.join("ports").join(port.to_string()))
    }

    /// Waits until no other run builds in this checkout.
    pub(crate) fn lock_build(&self) -> Result<Lock> {
        Lock::wait(
            &self.path("target/xtask/build.lock"),
            "builds in this checkout",
        )
    }
}

/// A locked file; unlocked by the system when this value, or the process, ends.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    fn wait(path: &Path, busy: &str) -> Result<Self> {
        if let Some(lock) = Self::take(path)? {
            return Ok(lock);
        }
        let step = Step::start(format!("waiting for another `cargo xtask` that {busy}"));
        let file = open(path)?;
        file.lock()
            .with_context(|| format!("cannot lock {}", path.display()))?;
        step.done();
        Ok(Self { _file: file })
    }

    /// Locks at once, or says that it is taken.
    pub(crate) fn take(path: &Path) -> Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }
}

fn open(path: &Path) -> Result<File> {
    create_dir_all(path.parent().unwrap_or(path))
        .with_context(|| format!("cannot create the folder of {}", path.display()))?;
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

fn cache_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    let set = |name| variable(name).filter(|path| path.is_absolute());
    if let Some(own) = set("ONCEGATE_CACHE") {
        return Ok(own);
    }
    let shared = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    shared
        .map(|folder| folder.join("oncegate"))
        .context("no folder for tools: set HOME, or ONCEGATE_CACHE to an absolute path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_nearest_variable_says() {
        let all = |name: &str| Some(PathBuf::from(format!("/{name}")));
        assert_eq!(cache_folder(all).unwrap(), Path::new("/ONCEGATE_CACHE"));
        assert_eq!(
            cache_folder(|name| (name != "ONCEGATE_CACHE").then(|| all(name))?).unwrap(),
            Path::new("/XDG_CACHE_HOME/oncegate")
        );
        assert_eq!(
            cache_folder(|name| (name == "HOME").then(|| all(name))?).unwrap(),
            Path::new("/HOME/.cache/oncegate")
        );
        assert!(
            cache_folder(|_| None)
                .unwrap_err()
                .to_string()
                .contains("ONCEGATE_CACHE")
        );
    }

    #[test]
    fn a_taken_lock_is_reported_and_free_again_after_it_is_dropped() {
        let path = env::temp_dir().join(format!("xtask-lock-{}", std::process::id()));
        let held = Lock::take(&path).unwrap();
        assert!(held.is_some() && Lock::take(&path).unwrap().is_none());
        drop(held);
        assert!(Lock::take(&path).unwrap().is_some());
        std::fs::remove_file(path).unwrap();
    }
}
