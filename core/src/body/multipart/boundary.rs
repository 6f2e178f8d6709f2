//! The boundary between the parts, as a `Content-Type` names it.

use alloc::vec::Vec;
use core::fmt;

use super::header::parameters;

/// The most characters a boundary may have (RFC 2046, section 5.1.1).
const MAX_LENGTH: usize = 70;

/// What separates the parts of a form: 1 to 70 of letters, digits and `'()+_,-./:=?` and, not at
/// the end, space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary(Vec<u8>);

impl Boundary {
    /// Reads the value of a `Content-Type`, such as `multipart/form-data; boundary=abc`. The
    /// boundary is quoted, or bare without space and comma.
    ///
    /// # Errors
    ///
    /// [`BoundaryError`] says what is wrong.
    pub fn parse(content_type: &str) -> Result<Self, BoundaryError> {
        let end = content_type.find(';').unwrap_or(content_type.len());
        let (media_type, rest) = content_type.split_at(end);
        if !media_type
            .trim()
            .eq_ignore_ascii_case("multipart/form-data")
        {
            return Err(BoundaryError::OtherType);
        }
        let mut found = None;
        for parameter in parameters(rest.as_bytes()) {
            let (name, value) = parameter.ok_or(BoundaryError::Malformed)?;
            if !name.eq_ignore_ascii_case(b"boundary") {
                continue;
            }
            if found.replace(value).is_some() {
                return Err(BoundaryError::Twice);
            }
        }
        Self::check(found.ok_or(BoundaryError::Missing)?)
    }

    fn check(boundary: &[u8]) -> Result<Self, BoundaryError> {
        let is_allowed =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte);
        if boundary.is_empty() || boundary.len() > MAX_LENGTH {
            return Err(BoundaryError::Length(boundary.len()));
        }
        if !boundary.iter().all(is_allowed) || boundary.ends_with(b" ") {
            return Err(BoundaryError::Character);
        }
        Ok(Self(boundary.to_vec()))
    }

    /// The bytes before a boundary's line and of the line itself.
    pub(super) fn delimiter(&self) -> Vec<u8> {
        [b"\r\n--", &self.0[..]].concat()
    }
}

/// Why a `Content-Type` names no boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoundaryError {
    /// The boundary has a character that is not allowed.
    Character,
    /// The boundary has this many characters.
    Length(usize),
    /// A parameter cannot be read.
    Malformed,
    /// There is no boundary.
    Missing,
    /// The media type is another one.
    OtherType,
    /// There are two boundaries.
    Twice,
}

impl fmt::Display for BoundaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character => f.write_str(
                "a boundary has only letters, digits, '()+_,-./:=? and, not at its end, space",
            ),
            Self::Length(length) => write!(
                f,
                "a boundary has 1 to {MAX_LENGTH} characters; this one has {length}"
            ),
            Self::Malformed => f.write_str("Content-Type has a malformed parameter"),
            Self::Missing => f.write_str("Content-Type names no boundary"),
            Self::OtherType => f.write_str("Content-Type is not multipart/form-data"),
            Self::Twice => f.write_str("Content-Type names two boundaries"),
        }
    }
}

impl core::error::Error for BoundaryError {}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn the_boundary_is_quoted_or_bare() {
        let delimiter = |content_type: &str| {
            let delimiter = Boundary::parse(content_type).unwrap().delimiter();
            String::from_utf8(delimiter[4..].to_vec()).unwrap()
        };
        assert_eq!(delimiter("multipart/form-data; boundary=aB-1"), "aB-1");
        assert_eq!(
            delimiter("Multipart/Form-Data;charset=x ; BOUNDARY=\"a b=?\" "),
            "a b=?"
        );
        assert_eq!(
            delimiter("multipart/form-data; boundary=----=_Part_0/1"),
            "----=_Part_0/1"
        );
        let longest = "x".repeat(70);
        assert_eq!(
            delimiter(&["multipart/form-data; boundary=", &longest].concat()),
            longest
        );
    }

    #[test]
    fn a_content_type_without_one_boundary_is_refused() {
        let refuses = |content_type: &str, message: &str| {
            let error = Boundary::parse(content_type).unwrap_err();
            assert_eq!(error.to_string(), message);
        };
        refuses("", "Content-Type is not multipart/form-data");
        refuses(
            "multipart/mixed; boundary=a",
            "Content-Type is not multipart/form-data",
        );
        refuses("multipart/form-data", "Content-Type names no boundary");
        refuses(
            "multipart/form-data; charset=x",
            "Content-Type names no boundary",
        );
        refuses(
            "multipart/form-data; boundary=a; boundary=a",
            "Content-Type names two boundaries",
        );
        for parameters in [
            "; boundary",
            "; boundary=",
            "; boundary=\"a",
            "; boundary=a b",
            "; =a; boundary=a",
            "; boundary=a, text/plain",
            ";",
        ] {
            refuses(
                &["multipart/form-data", parameters].concat(),
                "Content-Type has a malformed parameter",
            );
        }
        let characters =
            "a boundary has only letters, digits, '()+_,-./:=? and, not at its end, space";
        refuses("multipart/form-data; boundary=\"a \"", characters);
        refuses("multipart/form-data; boundary=\"a;b\"", characters);
        refuses("multipart/form-data; boundary=a*b", characters);
        refuses("multipart/form-data; boundary=\"é\"", characters);
        refuses(
            "multipart/form-data; boundary=\"\"",
            "a boundary has 1 to 70 characters; this one has 0",
        );
        refuses(
            &["multipart/form-data; boundary=", &"x".repeat(71)].concat(),
            "a boundary has 1 to 70 characters; this one has 71",
        );
    }
}
