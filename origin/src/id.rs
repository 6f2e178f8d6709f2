//! Names that become columns: of users, activities, messages, operations, tasks.
//!
//! **Invariant: an [`Id`] fits its column on every database, to the byte.** One that is too long would be
//! refused by one database and cut by another, and two ids that are cut alike would be one. The parser is
//! the only constructor.

use std::error::Error;
use std::fmt;

use oncegate_core::key::Key;

use crate::sql::Value;

/// A name of 1 to [`MOST`](Self::MOST) bytes without control characters.
///
/// ```
/// # use oncegate_origin::id::Id;
/// assert_eq!(Id::parse("user-7").unwrap().as_str(), "user-7");
/// let error = Id::parse(&"x".repeat(256)).unwrap_err();
/// assert_eq!(error.to_string(), "it has 256 bytes, and 255 is the most");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id<'t>(&'t str);

/// Why a text is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the rules of an id")]
pub enum BadId {
    /// It holds a control character, which some databases refuse.
    Control,
    /// There is nothing.
    Empty,
    /// It has so many bytes, and may have so many.
    TooLong {
        /// What it has.
        bytes: usize,
        /// What it may have.
        most: usize,
    },
}

impl<'t> Id<'t> {
    /// The most bytes that an id has.
    pub const MOST: usize = 255;

    /// Reads an id.
    ///
    /// # Errors
    ///
    /// [`BadId`] says what is wrong with it.
    pub fn parse(text: &'t str) -> Result<Self, BadId> {
        Self::parse_up_to(text, Self::MOST)
    }

    /// A name that stands in the program.
    ///
    /// # Panics
    ///
    /// If it is none, which a constant says when it is compiled.
    pub const fn literal(text: &'static str) -> Id<'static> {
        assert!(
            !text.is_empty() && text.len() <= Id::MOST,
            "an id has 1 to 255 bytes"
        );
        Id(text)
    }

    /// Reads an id of a narrower column.
    pub(crate) fn parse_up_to(text: &'t str, most: usize) -> Result<Self, BadId> {
        match text.len() {
            0 => Err(BadId::Empty),
            bytes if bytes > most => Err(BadId::TooLong { bytes, most }),
            _ if text.contains(char::is_control) => Err(BadId::Control),
            _ => Ok(Self(text)),
        }
    }

    /// The text.
    pub fn as_str(self) -> &'t str {
        self.0
    }
}

/// A key has 255 printable characters at most.
impl<'t> From<&'t Key> for Id<'t> {
    fn from(key: &'t Key) -> Self {
        Self(key.as_str())
    }
}

impl<'t> From<Id<'t>> for Value<'t> {
    fn from(id: Id<'t>) -> Self {
        id.0.into()
    }
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => f.write_str("it holds a control character"),
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong { bytes, most } => {
                write!(f, "it has {bytes} bytes, and {most} is the most")
            }
        }
    }
}

impl Error for BadId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_as_many_bytes_as_its_column() {
        let long = "ä".repeat(127) + "x";
        assert_eq!(Id::parse(&long).map(Id::as_str), Ok(long.as_str()));
        let longer = long.clone() + "x";
        let too_long = BadId::TooLong {
            bytes: 256,
            most: 255,
        };
        assert_eq!(Id::parse(&longer), Err(too_long));
        assert_eq!(Id::parse(""), Err(BadId::Empty));
        assert_eq!(Id::parse("a\0b"), Err(BadId::Control));
    }
}
