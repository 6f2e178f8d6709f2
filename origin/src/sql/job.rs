//! The statements of run records.

use super::{Dialect, Statements};
use crate::id::Id;

pub(crate) async fn begin<DB: Dialect>(
    connection: &mut DB::Connection,
    task: Id<'_>,
    run: Id<'_>,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO job_runs (id, task, started_at, settled) VALUES (?, ?, ?, 0)";
    let values = [run.into(), task.into(), now_ms.cast_signed().into()];
    connection.run(sql, &values).await?;
    Ok(())
}

pub(crate) async fn end<DB: Dialect>(
    connection: &mut DB::Connection,
    run: Id<'_>,
    now_ms: u64,
    settled: u64,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE job_runs SET ended_at = ?, settled = ? WHERE id = ?";
    let values = [
        now_ms.cast_signed().into(),
        settled.cast_signed().into(),
        run.into(),
    ];
    connection.run(sql, &values).await?;
    Ok(())
}
