//! Sums: points, and goods on a shelf.
//!
//! **Invariant: a sum and the row with the operation's id change in one transaction.** No state says
//! whether a sum was changed already; only the operation's row does. What may not fall below zero is
//! taken by one conditional statement. A change has 32 bits and a sum 64, so none runs over.

use crate::clock::now_ms;
use crate::id::Id;
use crate::sql::work::{FirstInsert, first_insert, is_first};
use crate::sql::{Dialect, Statements};

const ACCOUNT: FirstInsert = first_insert!("accounts", "user_id, points", "?, 0", "user_id");
const OPERATION: FirstInsert = first_insert!(
    "point_operations",
    "id, user_id, amount, created_at",
    "?, ?, ?, ?",
    "id"
);
const MOVE: FirstInsert = first_insert!(
    "stock_moves",
    "id, sku, quantity, missing, created_at",
    "?, ?, ?, ?, ?",
    "id"
);
const MEMBER: FirstInsert = first_insert!(
    "members",
    "activity, user_id, joined_at",
    "?, ?, ?",
    "activity, user_id"
);

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an outcome that a caller forgets must be a compile error"
)]
pub enum Changed {
    /// By this call.
    Now,
    /// By an earlier call with this operation id.
    Before,
    /// There is less than is to be taken. The transaction must be rolled back.
    TooLittle,
}

/// Adds to an account, or takes from it, once for each operation id.
///
/// # Errors
///
/// The database failed.
pub async fn change_points<DB: Dialect>(
    connection: &mut DB::Connection,
    operation: Id<'_>,
    user: Id<'_>,
    amount: i32,
) -> Result<Changed, sqlx::Error> {
    let (now, amount) = (now_ms().cast_signed(), i64::from(amount));
    let values = [operation.into(), user.into(), amount.into(), now.into()];
    if !is_first::<DB>(connection, OPERATION, &values).await? {
        return Ok(Changed::Before);
    }
    if add::<DB>(connection, user, amount).await? {
        return Ok(Changed::Now);
    }
    // There is too little, or no account yet. Whoever makes it, then there is one.
    is_first::<DB>(connection, ACCOUNT, &[user.into()]).await?;
    Ok(match add::<DB>(connection, user, amount).await? {
        true => Changed::Now,
        false => Changed::TooLittle,
    })
}

/// One conditional statement. `false`: it found no account with enough in it.
async fn add<DB: Dialect>(
    connection: &mut DB::Connection,
    user: Id<'_>,
    amount: i64,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE accounts SET points = points + ? WHERE user_id = ? AND points >= ?";
    let values = [amount.into(), user.into(), (-amount).into()];
    Ok(connection.run(sql, &values).await? == 1)
}

/// Takes goods off the shelf, or, below zero, puts them back, once for each operation id. What is not
/// there is written down as missing.
///
/// # Errors
///
/// The database failed, or there is no such article.
pub async fn move_stock<DB: Dialect>(
    connection: &mut DB::Connection,
    operation: Id<'_>,
    sku: Id<'_>,
    quantity: i32,
) -> Result<Changed, sqlx::Error> {
    let (now, quantity) = (now_ms().cast_signed(), i64::from(quantity));
    let values = [
        operation.into(),
        sku.into(),
        quantity.into(),
        0.into(),
        now.into(),
    ];
    if !is_first::<DB>(connection, MOVE, &values).await? {
        return Ok(Changed::Before);
    }
    let sql = "UPDATE products SET stock = stock - ? WHERE sku = ? AND stock >= ?";
    let values = [quantity.into(), sku.into(), quantity.into()];
    if connection.run(sql, &values).await? == 1 {
        return Ok(Changed::Now);
    }
    let sql = "UPDATE stock_moves SET missing = quantity, quantity = 0 WHERE id = ?";
    connection.run(sql, &[operation.into()]).await?;
    Ok(Changed::TooLittle)
}

/// What an operation moved. `None`: there was no such operation.
pub(crate) async fn moved<DB: Dialect>(
    connection: &mut DB::Connection,
    operation: &str,
) -> Result<Option<i64>, sqlx::Error> {
    let sql = "SELECT quantity FROM stock_moves WHERE id = ?";
    let row = connection.first(sql, &[operation.into()]).await?;
    row.map(|row| row.get("quantity")).transpose()
}

/// Joins an activity. `false`: this user has joined before.
///
/// # Errors
///
/// The database failed.
pub async fn join<DB: Dialect>(
    connection: &mut DB::Connection,
    activity: Id<'_>,
    user: Id<'_>,
) -> Result<bool, sqlx::Error> {
    let values = [activity.into(), user.into(), now_ms().cast_signed().into()];
    is_first::<DB>(connection, MEMBER, &values).await
}
