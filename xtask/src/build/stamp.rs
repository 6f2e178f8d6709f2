//! Stamps: the digest of everything that a step was made from. Invariant: a stamp is written after the step's output, so
//! a stamp that holds stands for complete output. Tests are no input: what is built has none of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::project::Project;

/// Folders that a build makes inside its own input.
const MADE: [&str; 3] = ["sdk/dist", "edge-worker/build", "node_modules"];

/// Modules and folders of tests alone. Those that stand in a file of the code count, since nothing here reads Rust.
const TESTS: [&str; 2] = ["tests", "tests.rs"];

/// The digest of a step's input, in the making.
pub(crate) struct Stamp {
    name: &'static str,
    digest: Sha256,
}

impl Stamp {
    /// A stamp of a step by its name.
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            digest: Sha256::new(),
        }
    }

    /// Takes in files and whole folders but for their tests, by path and content; one that is absent counts as absent.
    pub(crate) fn files(mut self, project: &Project, paths: &[&str]) -> Result<Self> {
        for path in paths {
            for file in files_below(project, Path::new(path))? {
                let content = fs::read(project.path(&file))
                    .with_context(|| format!("cannot read {}", file.display()))?;
                self.part(file.as_os_str().as_encoded_bytes());
                self.part(&content);
            }
        }
        Ok(self)
    }

    /// Takes in a text, such as the version of a tool.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.part(text.as_bytes());
        self
    }

    /// Whether the step's output is there and was made from this input.
    pub(crate) fn holds(&self, project: &Project, output: &Path) -> bool {
        let written = fs::read_to_string(self.file(project)).ok();
        output.exists() && written.is_some_and(|written| written == self.hex())
    }

    /// Writes the stamp: the step's output is complete.
    pub(crate) fn write(&self, project: &Project) -> Result<()> {
        let file = self.file(project);
        fs::create_dir_all(file.parent().unwrap_or(&file))
            .context("cannot create the folder of stamps")?;
        fs::write(&file, self.hex()).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Lengths go in as well, so that two inputs never look alike when their border moves.
    fn part(&mut self, bytes: &[u8]) {
        self.digest.update(bytes.len().to_le_bytes());
        self.digest.update(bytes);
    }

    fn file(&self, project: &Project) -> PathBuf {
        project.path("target/xtask/stamp").join(self.name)
    }

    fn hex(&self) -> String {
        self.digest
            .clone()
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// The files at or below a path of the checkout, but for what is hidden and for tests, as relative paths in a fixed order.
pub(super) fn files_below(project: &Project, path: &Path) -> Result<Vec<PathBuf>> {
    let full = project.path(path);
    if full.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !full.is_dir() || MADE.iter().any(|made| path == Path::new(made)) {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&full).with_context(|| format!("cannot read {}", full.display()))?;
    let mut names: Vec<_> = entries
        .collect::<std::io::Result<Vec<_>>>()?
        .iter()
        .map(fs::DirEntry::file_name)
        .collect();
    names.sort();
    let visible = names
        .iter()
        .filter(|name| !name.as_encoded_bytes().starts_with(b"."))
        .filter(|name| !TESTS.iter().any(|tests| *name == *tests));
    let nested: Result<Vec<_>> = visible
        .map(|name| files_below(project, &path.join(name)))
        .collect();
    Ok(nested?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_depends_on_where_one_text_ends() {
        let of = |texts: [&str; 2]| texts.into_iter().fold(Stamp::new("x"), Stamp::text).hex();
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
        assert_eq!(of(["ab", "c"]), of(["ab", "c"]));
    }

    #[test]
    fn a_stamp_sees_the_files_of_a_folder_and_bears_an_absent_one() {
        let project = Project::find().unwrap();
        let of = |paths: &[&str]| Stamp::new("x").files(&project, paths).unwrap().hex();
        assert_ne!(of(&["xtask/src"]), of(&["xtask/src/build"]));
        assert_eq!(of(&["no-such-folder"]), of(&[]));
    }

    #[test]
    fn files_come_in_a_fixed_order_and_without_what_a_build_makes() {
        let files = files_below(&Project::find().unwrap(), Path::new("xtask")).unwrap();
        assert!(files.contains(&PathBuf::from("xtask/src/build/stamp.rs")));
        assert!(files.is_sorted_by(|a, b| a.parent() != b.parent() || a < b));
    }

    /// A change of tests alone builds nothing anew.
    #[test]
    fn tests_in_files_of_their_own_are_no_input() {
        let project = Project::find().unwrap();
        for (folder, code, tests) in [
            ("core", "core/src/cron.rs", "core/src/cron/tests.rs"),
            (
                "core",
                "core/src/lock/mod.rs",
                "core/src/lock/tests/parts.rs",
            ),
            ("sdk", "sdk/js/lock.js", "sdk/tests/verbs.test.mjs"),
        ] {
            let files = files_below(&project, Path::new(folder)).unwrap();
            assert!(files.contains(&code.into()) && !files.contains(&tests.into()));
            assert!(project.path(tests).exists(), "{tests}");
        }
    }

    /// A module of another kind under this name would be built, and its changes not seen.
    #[test]
    fn modules_that_are_called_tests_are_built_for_tests_only() {
        let project = Project::find().unwrap();
        let files = ["core", "store", "sdk", "edge-worker", "tests/contract"]
            .map(|folder| files_below(&project, Path::new(folder)).unwrap());
        let rust = files.iter().flatten();
        let rust = rust.filter(|file| file.extension().is_some_and(|kind| kind == "rs"));
        for file in rust {
            let text = fs::read_to_string(project.path(file)).unwrap();
            let of_tests = text.matches("mod tests;").count();
            let kept_out = text.matches("#[cfg(test)]\nmod tests;").count();
            assert_eq!(of_tests, kept_out, "{}", file.display());
        }
    }
}
