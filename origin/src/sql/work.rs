//! Work in one transaction, and rows that only the first one can insert.
//!
//! **Invariant: whoever inserts first, acts; nobody looks before.** The primary key decides, inside
//! the transaction that acts. What a database says of the number of rows of an upsert is never asked:
//! MySQL counts a row that it updated, or left alone, in ways that depend on the connection.

use super::{Dialect, Meaning, Sql, Statements, Transaction, Value};
use crate::ledger::{Failure, commit};

/// Does something in a transaction, once more if the database gave it up to let another one through.
/// What the block answers is committed; a [`Failure`] of it rolls back. `DB` has
/// to be in scope.
macro_rules! atomically {
    ($database:expr, |$connection:ident| $act:expr) => {{
        let mut patience = crate::sql::Patience::default();
        crate::ledger::again!(&mut patience, async {
            let begun = $database.begin(&mut patience).await;
            let mut transaction = begun.map_err(crate::ledger::Failure::NotExecuted)?;
            let acted: Result<_, crate::ledger::Failure> = {
                let $connection: &mut DB::Connection = &mut transaction;
                async { $act }.await
            };
            crate::sql::work::end::<DB, _>(transaction, acted).await
        })
    }};
}

pub(crate) use atomically;

/// Commits what was done, or rolls back.
pub(crate) async fn end<DB: Dialect, T>(
    transaction: Transaction<DB>,
    acted: Result<T, Failure>,
) -> Result<T, Failure> {
    match acted {
        Ok(done) => commit(transaction).await.map(|()| done),
        Err(failure) => {
            // Whether the database hears of it or not: without a commit nothing is done.
            let _ = transaction.rollback().await;
            Err(failure)
        }
    }
}

/// An insert that only the first one makes, by the table's primary key.
#[derive(Clone, Copy)]
pub(crate) struct FirstInsert {
    pub(crate) table: &'static str,
    pub(crate) sql: Sql,
}

/// The statement of a [`FirstInsert`]: the table, its columns, a `?` for each, and its primary key.
macro_rules! first_insert {
    ($table:literal, $columns:literal, $values:literal, $key:literal) => {{
        const OR_NOTHING: &str = concat!(
            "INSERT INTO ",
            $table,
            " (",
            $columns,
            ") VALUES (",
            $values,
            ") ON CONFLICT (",
            $key,
            ") DO NOTHING"
        );
        crate::sql::work::FirstInsert {
            table: $table,
            sql: crate::sql::Sql {
                mysql: concat!(
                    "INSERT INTO ",
                    $table,
                    " (",
                    $columns,
                    ") VALUES (",
                    $values,
                    ")"
                ),
                postgres: OR_NOTHING,
                sqlite: OR_NOTHING,
            },
        }
    }};
}

pub(crate) use first_insert;

/// Whether this was the first insert. Where another transaction has inserted the row and not
/// committed, this waits for its end.
pub(crate) async fn is_first<DB: Dialect>(
    connection: &mut DB::Connection,
    insert: FirstInsert,
    values: &[Value<'_>],
) -> Result<bool, sqlx::Error> {
    match connection.run(insert.sql, values).await {
        Ok(rows) => Ok(rows == 1),
        Err(error) if is_primary_key::<DB>(&error, insert.table) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether it is this table's primary key that was violated, and no other index. Only MySQL says it
/// by an error: the others have been told which index may be met.
pub(super) fn is_primary_key<DB: Dialect>(error: &sqlx::Error, table: &str) -> bool {
    let says = |name: &str| {
        error
            .as_database_error()
            .is_some_and(|error| error.message().ends_with(name))
    };
    DB::meaning(error) == Meaning::Duplicate
        && (says("'PRIMARY'") || says(&format!("'{table}.PRIMARY'")))
}
