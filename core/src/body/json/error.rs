//! What is wrong with a JSON body: kind and place.

use core::fmt;

use super::MAX_DEPTH;

/// Why a body is not JSON that can be used, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    kind: JsonErrorKind,
    position: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::body) enum JsonErrorKind {
    ByteOrderMark,
    Control,
    DuplicateName,
    Ends(&'static str),
    Escape,
    Expected(&'static str),
    Exponent,
    LoneSurrogate,
    TooDeep,
    Trailing,
    Utf8,
}

impl JsonError {
    pub(in crate::body) fn new(kind: JsonErrorKind, index: usize) -> Self {
        Self {
            kind,
            position: index + 1,
        }
    }

    /// The offending byte's position in the body, counted from 1.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            JsonErrorKind::ByteOrderMark => f.write_str("JSON has no byte order mark")?,
            JsonErrorKind::Control => {
                f.write_str("control characters in a string must be escaped")?;
            }
            JsonErrorKind::DuplicateName => f.write_str("a member name occurs twice")?,
            JsonErrorKind::Ends(what) => write!(f, "the body ends where {what} is expected")?,
            JsonErrorKind::Escape => {
                f.write_str(r#"a backslash begins \", \\, \/, \b, \f, \n, \r, \t or \uXXXX"#)?;
            }
            JsonErrorKind::Expected(what) => write!(f, "expected {what}")?,
            JsonErrorKind::Exponent => f.write_str("the number's exponent is over 64 bits")?,
            JsonErrorKind::LoneSurrogate => f.write_str("half of a surrogate pair is missing")?,
            JsonErrorKind::TooDeep => write!(f, "nested more than {MAX_DEPTH} levels deep")?,
            JsonErrorKind::Trailing => f.write_str("only white space may follow the JSON value")?,
            JsonErrorKind::Utf8 => f.write_str("the body is not valid UTF-8")?,
        }
        write!(f, " (byte {})", self.position)
    }
}

impl core::error::Error for JsonError {}
