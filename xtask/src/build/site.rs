//! The site that the gate serves: www/ with the SDK below /oncegate/, in target/site. Invariant: files are written in
//! place and only when they differ, since a running gate watches the folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::project::Project;

/// Brings the site up to date.
pub(super) fn build(project: &Project) -> Result<()> {
    let site = project.path("target/site");
    fs::create_dir_all(&site).with_context(|| format!("cannot create {}", site.display()))?;
    let mut wanted = BTreeSet::new();
    mirror(&project.path("www"), &site, &mut wanted)?;
    mirror(
        &project.path("sdk/dist"),
        &site.join("oncegate"),
        &mut wanted,
    )?;
    sweep(&site, &wanted)
}

/// Brings a folder's files to another place, where others may stand beside them.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    mirror(from, to, &mut BTreeSet::new())
}

/// Copies a folder's files that differ, and notes every path that belongs.
fn mirror(from: &Path, to: &Path, wanted: &mut BTreeSet<PathBuf>) -> Result<()> {
    wanted.insert(to.to_owned());
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let source = entry?.path();
        let copy = to.join(source.file_name().unwrap_or_default());
        if source.is_dir() {
            mirror(&source, &copy, wanted)?;
            continue;
        }
        let content =
            fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        if fs::read(&copy).ok().as_ref() != Some(&content) {
            fs::write(&copy, content)
                .with_context(|| format!("cannot write {}", copy.display()))?;
        }
        wanted.insert(copy);
    }
    Ok(())
}

/// Removes what no longer belongs.
fn sweep(folder: &Path, wanted: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        match (wanted.contains(&path), path.is_dir()) {
            (true, true) => sweep(&path, wanted)?,
            (true, false) => {}
            (false, true) => fs::remove_dir_all(&path)?,
            (false, false) => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_follows_its_source_and_leaves_equal_files_untouched() {
        let base = std::env::temp_dir().join(format!("xtask-site-{}", std::process::id()));
        let (from, to) = (base.join("from"), base.join("to"));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::create_dir_all(to.join("gone")).unwrap();
        fs::write(from.join("deep/page.html"), "new").unwrap();
        fs::write(to.join("old.html"), "old").unwrap();
        let sync = || {
            let mut wanted = BTreeSet::new();
            mirror(&from, &to, &mut wanted)
                .and_then(|()| sweep(&to, &wanted))
                .unwrap();
            fs::metadata(to.join("deep/page.html"))
                .unwrap()
                .modified()
                .unwrap()
        };
        let first = sync();
        assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
        assert_eq!(sync(), first);
        fs::remove_dir_all(base).unwrap();
    }
}
