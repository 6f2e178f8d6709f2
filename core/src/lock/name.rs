//! The name of a lock.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// The longest name.
const LONGEST: usize = 128;

/// What is locked: 1 to 128 letters, digits and `-_.~:`, and not dots alone. None of them is ever written
/// in another way in a path, so that one lock has one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockName(String);

/// Why a text is no name of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// There is none.
    Empty,
    /// It has more than 128 characters.
    TooLong,
    /// Of dots alone, which a path takes for something else.
    Dots,
    /// It has a character that no name has.
    Character {
        /// Where, counted in bytes from 0.
        position: usize,
    },
}

impl LockName {
    /// Reads a name as it stands in a path.
    ///
    /// # Errors
    /// It is not of the form above.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte);
        if let Some(position) = text.bytes().position(|byte| !is_plain(byte)) {
            return Err(NameError::Character { position });
        }
        match text.len() {
            0 => Err(NameError::Empty),
            1..=LONGEST if text.bytes().all(|byte| byte == b'.') => Err(NameError::Dots),
            1..=LONGEST => Ok(Self(text.to_owned())),
            _ => Err(NameError::TooLong),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a lock needs a name: locks/{name}"),
            Self::TooLong => write!(f, "the lock's name has more than {LONGEST} characters"),
            Self::Dots => f.write_str("the lock's name is of dots alone"),
            Self::Character { position } => write!(
                f,
                "the lock's name has something else than letters, digits and -_.~: (character {})",
                position + 1
            ),
        }
    }
}
