//! Rows for a shard, written into its database file while nothing runs. Invariant: they are copies of a row that the gate
//! itself wrote, under other identities: whatever the schema is, they are real.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process::run_lines;
use crate::setup::Tools;

/// Sorted identities: in any other order the pages of a large table would be written again and again.
const SCRIPT: &str = "
const { DatabaseSync } = require('node:sqlite');
const [file, wanted] = process.argv.slice(1);
const database = new DatabaseSync(file);
const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all('operations').map(({ name }) => name);
const others = columns.filter((name) => name !== 'id').join(', ');
database.exec(`
  PRAGMA journal_mode = WAL;
  BEGIN;
  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${Number(wanted)})
  INSERT INTO operations (id, ${others})
  SELECT randomblob(32) AS id, ${others} FROM numbers, (SELECT ${others} FROM operations LIMIT 1) ORDER BY 1;
  COMMIT;
  PRAGMA wal_checkpoint(TRUNCATE);
`);
database.close();
";

/// The databases of all shards that were ever used.
pub(super) fn databases(folder: &Path) -> Result<Vec<PathBuf>> {
    let objects = folder.join("objects/Shard");
    if !objects.exists() {
        return Ok(Vec::new());
    }
    let entries =
        fs::read_dir(&objects).with_context(|| format!("cannot read {}", objects.display()))?;
    let paths: std::io::Result<Vec<PathBuf>> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect();
    let mut paths = paths?;
    // The runtime's own file beside those of the objects has a name that is no id.
    paths.retain(|path| {
        path.extension().is_some_and(|it| it == "sqlite")
            && path.file_stem().is_some_and(|it| it != "metadata")
    });
    Ok(paths)
}

/// Adds `rows` rows to a database that has one.
pub(super) fn add(tools: &Tools, file: &Path, rows: u32) -> Result<()> {
    let mut node = tools.node();
    node.args(["--no-warnings", "--eval", SCRIPT, "--"])
        .arg(file)
        .arg(rows.to_string());
    let (status, printed) = run_lines(&mut node, |_| ())?;
    if !status.success() {
        bail!("{} takes no rows: {}", file.display(), printed.trim());
    }
    Ok(())
}
