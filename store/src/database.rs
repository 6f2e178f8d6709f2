//! What the store needs of an SQLite.

use std::fmt;

/// A value of a row. Numbers stay below 2^53: the platform's bindings have no other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a database must bind every kind")]
pub enum Value<B> {
    /// Nothing.
    Null,
    /// A number.
    Integer(u64),
    /// Text.
    Text(String),
    /// Bytes of the store's own: identities.
    Id([u8; 32]),
    /// Bytes that are only passed on: they need not be where the store runs.
    Bytes(B),
}

/// A row that a statement gave: as many values as columns.
pub type Row<B> = Vec<Value<B>>;

/// An SQLite database that the store runs on.
pub trait Database {
    /// Bytes as the shell holds them.
    type Bytes: Clone;
    /// What can go wrong, the store's own [`Fault`] included.
    type Error: From<Fault>;

    /// Runs one statement and gives its rows.
    fn run(
        &self,
        statement: &str,
        values: Vec<Value<Self::Bytes>>,
    ) -> Result<Vec<Row<Self::Bytes>>, Self::Error>;

    /// Runs `work` as one transaction: an error undoes all of it.
    fn atomically(
        &self,
        work: &mut dyn FnMut() -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error>;

    /// Bytes that the store looks into itself: an identity.
    fn id(bytes: &Self::Bytes) -> Option<[u8; 32]>;
}

/// A database that says something the store cannot have written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The tables have a version that this code does not know.
    UnknownVersion(u64),
    /// A record that cannot be read; it must never count as absent (rule I5).
    Record(String),
    /// A row of another shape than was written.
    Row(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion(version) => write!(
                f,
                "the shard's tables have version {version}, which this gate does not know: deploy a newer one"
            ),
            Self::Record(reason) => write!(f, "a record cannot be read: {reason}"),
            Self::Row(place) => write!(f, "a row has an unexpected shape: {place}"),
        }
    }
}

impl std::error::Error for Fault {}
