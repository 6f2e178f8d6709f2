//! Moves of a status, in the database.
//!
//! **Invariant: only whoever changed the row hears [`Outcome::Applied`].** The move is judged before
//! the database is asked; the statement names the status that it expects, so of any number of callers
//! one changes the row. Side effects belong into the same transaction, and only after `Applied`.
//!
//! An illegal move raises an alarm: a metric and a line in the log.

use oncegate_core::lifecycle::{self, Illegal, Move, Outcome, Status};

use crate::log;
use crate::metrics;
use crate::sql::{Sql, Statements};

/// A column that holds a status.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "two statements make a column")]
pub struct StatusColumn {
    /// What moves are called in the log.
    pub name: &'static str,
    /// `UPDATE … SET status = ? WHERE id = ? AND status = ?`
    pub compare_and_set: Sql,
    /// `SELECT status FROM … WHERE id = ?`, as of now: a reading that locks where there are snapshots.
    pub read: Sql,
}

/// Moves a row from one status to another, if that is legal and the row is there.
///
/// # Errors
///
/// The database failed. The transaction has to be rolled back.
pub async fn advance<C: Statements, S: Status>(
    connection: &mut C,
    column: StatusColumn,
    id: &str,
    expected: S,
    target: S,
) -> Result<Outcome<S>, sqlx::Error> {
    let outcome = match lifecycle::propose(expected, target) {
        Ok(legal) => apply(connection, column, id, legal).await?,
        Err(illegal) => Outcome::Illegal(illegal),
    };
    if let Outcome::Illegal(illegal) = &outcome {
        alarm(column.name, id, illegal);
    }
    Ok(outcome)
}

async fn apply<C: Statements, S: Status>(
    connection: &mut C,
    column: StatusColumn,
    id: &str,
    legal: Move<S>,
) -> Result<Outcome<S>, sqlx::Error> {
    let (expected, target) = (legal.expected().code(), legal.target().code());
    let values = [target.into(), id.into(), expected.into()];
    // Expected and target differ, so a row that matched was changed: whether a database counts rows
    // that it found or rows that it changed makes no difference.
    if connection.run(column.compare_and_set, &values).await? == 1 {
        return Ok(Outcome::Applied);
    }
    let found = connection.first(column.read, &[id.into()]).await?;
    let code: Option<i64> = found.map(|row| row.get("status")).transpose()?;
    let unknown = |code| sqlx::Error::Decode(format!("there is no status {code}").into());
    let status = code.map(|code| S::from_code(code).ok_or_else(|| unknown(code)));
    Ok(legal.not_applied(status.transpose()?))
}

fn alarm<S: Status>(column: &str, id: &str, illegal: &Illegal<S>) {
    metrics::count(metrics::Event::IllegalMove);
    log::alarm("illegal_move", &format!("{column} {id}: {illegal}"));
}
