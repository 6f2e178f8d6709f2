//! Named locks with an owner and a lease, and fences for locks of any kind.
//!
//! **Invariant: only the owner renews and releases.** Taking a lock and setting its end is one
//! conditional statement. A lock keeps two from working at the same time; it does not keep the second
//! from doing the work again afterwards, and not even that when work takes longer than the lease. So what
//! a lock guards has to hold without it: by a unique index, or by compare-and-set.
//!
//! **Invariant: of all that acted on a thing behind [`admit`], none acted after one with a greater fence.** The fence is
//! compared and kept in the transaction of the act. It comes from whoever gives the lock and numbers its holders: the
//! gate's locks and claims do, the locks of this module do not.
//!
//! ```
//! # use oncegate_origin::{id::Id, lock};
//! # use oncegate_origin::ledger::{Answer, Effect, Failure};
//! # use sqlx::PgConnection;
//! /// In the transaction: of an effect of the ledger, or any other.
//! async fn restock(transaction: &mut PgConnection, fence: u64) -> Result<Effect, Failure> {
//!     if !lock::admit(transaction, Id::literal("shelf-7"), fence).await? {
//!         return Ok(Effect::Refused(Answer::json(409, &"somebody has come after you")?));
//!     }
//!     // What the lock guards.
//!     Ok(Effect::Executed(Answer::json(200, &"restocked")?))
//! }
//! ```

use crate::id::Id;
use crate::sql::work::{FirstInsert, first_insert, is_first};
use crate::sql::{Sql, Statements};

const FENCE: FirstInsert = first_insert!("fences", "guarded, fence", "?, ?", "guarded");

const RAISE: Sql = Sql::same("UPDATE fences SET fence = ? WHERE guarded = ? AND fence <= ?");

const TAKE: Sql = Sql::same(
    "UPDATE task_locks SET owner = ?, lease_until = ?
     WHERE task = ? AND (owner IS NULL OR lease_until <= ?)",
);

const RENEW: Sql = Sql::same("UPDATE task_locks SET lease_until = ? WHERE task = ? AND owner = ?");

const RELEASE: Sql =
    Sql::same("UPDATE task_locks SET owner = NULL, lease_until = 0 WHERE task = ? AND owner = ?");

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
pub async fn take<C: Statements>(
    connection: &mut C,
    task: Id<'_>,
    owner: Id<'_>,
    now_ms: u64,
    until_ms: u64,
) -> Result<bool, sqlx::Error> {
    let values = [
        owner.into(),
        until_ms.cast_signed().into(),
        task.into(),
        now_ms.cast_signed().into(),
    ];
    if connection.run(TAKE, &values).await? == 1 {
        return Ok(true);
    }
    // Held, or never taken before: then the row is made, and taken in the same way.
    Ok(
        is_first::<C::Database>(connection, LOCK, &[task.into()]).await?
            && connection.run(TAKE, &values).await? == 1,
    )
}

/// Moves the end of a lock. `false`: it is somebody else's by now.
///
/// # Errors
///
/// The database failed.
pub async fn renew<C: Statements>(
    connection: &mut C,
    task: Id<'_>,
    owner: Id<'_>,
    until_ms: u64,
) -> Result<bool, sqlx::Error> {
    let values = [until_ms.cast_signed().into(), task.into(), owner.into()];
    Ok(connection.run(RENEW, &values).await? == 1)
}

/// Releases a lock. `false`: it was not the owner's any more, and stays with whoever has it.
///
/// # Errors
///
/// The database failed.
pub async fn release<C: Statements>(
    connection: &mut C,
    task: Id<'_>,
    owner: Id<'_>,
) -> Result<bool, sqlx::Error> {
    Ok(connection
        .run(RELEASE, &[task.into(), owner.into()])
        .await?
        == 1)
}

/// Whether the holder of a lock may still act on what the lock guards: nobody with a greater fence has. To be asked in the
/// transaction of the act, and before it: until that ends, others wait here. A holder may act more than once.
///
/// Two locks of one gate that guard one thing have fences of one sequence only if they have one name, so what is guarded is
/// best named like the lock.
///
/// # Errors
///
/// The database failed, or the fence has more than 63 bits, which none of the gate's has.
pub async fn admit<C: Statements>(
    connection: &mut C,
    guarded: Id<'_>,
    fence: u64,
) -> Result<bool, sqlx::Error> {
    let fence = i64::try_from(fence).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let values = [fence.into(), guarded.into(), fence.into()];
    if connection.run(RAISE, &values).await? == 1 {
        return Ok(true);
    }
    // A greater one was here, or none at all: then the row is made, and whoever was overtaken at that compares with it.
    let first = [guarded.into(), fence.into()];
    Ok(is_first::<C::Database>(connection, FENCE, &first).await?
        || connection.run(RAISE, &values).await? == 1)
}
