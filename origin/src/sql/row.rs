//! Rows, and what their columns can be read as.
//!
//! **Invariant: a column is a number, a text or bytes, and says so where it is not what was asked for.**

use std::fmt;

use super::Dialect;

/// A row, read by the names of its columns.
pub struct Row<DB: Dialect>(DB::Row);

impl<DB: Dialect> Row<DB> {
    pub(super) fn new(row: DB::Row) -> Self {
        Self(row)
    }

    /// The value of a column.
    ///
    /// # Errors
    ///
    /// There is no such column, it holds another type, or NULL where `T` is no `Option`.
    pub fn get<T: Column>(&self, column: &str) -> Result<T, sqlx::Error> {
        T::read::<DB>(&self.0, column)
    }
}

impl<DB: Dialect> fmt::Debug for Row<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What it holds may be a secret.
        f.write_str("Row(…)")
    }
}

/// What a column can be read as.
pub trait Column: Sized {
    /// Reads it.
    #[doc(hidden)]
    fn read<DB: Dialect>(row: &DB::Row, column: &str) -> Result<Self, sqlx::Error>;
}

macro_rules! column {
    ($type:ty, $method:ident) => {
        impl Column for Option<$type> {
            fn read<DB: Dialect>(row: &DB::Row, column: &str) -> Result<Self, sqlx::Error> {
                DB::$method(row, column)
            }
        }

        impl Column for $type {
            fn read<DB: Dialect>(row: &DB::Row, column: &str) -> Result<Self, sqlx::Error> {
                DB::$method(row, column)?.ok_or_else(|| null(column))
            }
        }
    };
}

column!(i64, integer);
column!(String, text);
column!(Vec<u8>, bytes);

fn null(column: &str) -> sqlx::Error {
    sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: "it is NULL".into(),
    }
}
