//! Named locks with an owner and a lease.
//!
//! **Invariant: only the owner renews and releases.** Taking a lock and setting its end is one
//! conditional statement. A lock keeps two from working at the same time; it does not keep the second
//! from doing the work again afterwards, and not even that when work takes longer than the lease. So what
//! a lock guards has to hold without it: by a unique index, or by compare-and-set.

use crate::id::Id;
use crate::sql::work::{FirstInsert, first_insert, is_first};
use crate::sql::{Dialect, Statements};

const LOCK: FirstInsert = first_insert!(
    "task_locks",
    "task, owner, lease_until",
    "?, NULL, 0",
    "task"
);

/// Takes a lock that nobody holds, until a point in time. `false`: somebody holds it.
///
/// # Errors
///
/// The database failed.
pub async fn take<DB: Dialect>(
    connection: &mut DB::Connection,
    task: Id<'_>,
    owner: Id<'_>,
    now_ms: u64,
    until_ms: u64,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE task_locks SET owner = ?, lease_until = ?
               WHERE task = ? AND (owner IS NULL OR lease_until <= ?)";
    let values = [
        owner.into(),
        until_ms.cast_signed().into(),
        task.into(),
        now_ms.cast_signed().into(),
    ];
    if connection.run(sql, &values).await? == 1 {
        return Ok(true);
    }
    // Held, or never taken before: then the row is made, and taken in the same way.
    Ok(is_first::<DB>(connection, LOCK, &[task.into()]).await?
        && connection.run(sql, &values).await? == 1)
}

/// Moves the end of a lock. `false`: it is somebody else's by now.
///
/// # Errors
///
/// The database failed.
pub async fn renew<DB: Dialect>(
    connection: &mut DB::Connection,
    task: Id<'_>,
    owner: Id<'_>,
    until_ms: u64,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE task_locks SET lease_until = ? WHERE task = ? AND owner = ?";
    let values = [until_ms.cast_signed().into(), task.into(), owner.into()];
    Ok(connection.run(sql, &values).await? == 1)
}

/// Releases a lock. `false`: it was not the owner's any more, and stays with whoever has it.
///
/// # Errors
///
/// The database failed.
pub async fn release<DB: Dialect>(
    connection: &mut DB::Connection,
    task: Id<'_>,
    owner: Id<'_>,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE task_locks SET owner = NULL, lease_until = 0 WHERE task = ? AND owner = ?";
    Ok(connection.run(sql, &[task.into(), owner.into()]).await? == 1)
}
