//! Reading request bodies: where a generated key is (rule K2), which two bodies say the same (rule K3).
//!
//! Every reader looks at the whole body, in time and memory linear in its length (sorting the
//! members of an object adds a logarithm), and refuses what two readers might understand
//! differently: whoever reads the body after the gate must not find another key in it.
//!
//! | module | reads |
//! | --- | --- |
//! | [`json`] | JSON, as events |
//! | `alike` | names that some reader takes for another one |
//! | `charset` | the character encoding that a body names |
//! | [`mod@pointer`] | one value of a JSON body, as a key |
//! | [`canonical`] | a JSON body, as a digest of what it says |
//! | [`form`] | one field of an URL-encoded form, as a key |
//! | [`multipart`] | a multipart form: its digest, and one field as a key |

pub(crate) mod alike;
pub mod canonical;
pub(crate) mod charset;
#[cfg(test)]
mod dice;
pub mod form;
pub mod json;
pub mod multipart;
pub mod pointer;

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use self::json::JsonError;
use self::multipart::{BoundaryError, MultipartError};

/// The text of a generated key, as the body says it. Never empty.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText(String);

impl KeyText {
    fn new(text: String) -> Result<Self, Reason> {
        if text.is_empty() {
            return Err(Reason::Empty);
        }
        Ok(Self(text))
    }

    fn from_utf8(bytes: &[u8]) -> Result<Self, Reason> {
        let text = core::str::from_utf8(bytes).map_err(|_| Reason::NotUtf8)?;
        Self::new(text.to_owned())
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shows the first characters only, as a [`Key`](crate::key::Key) does.
impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyText(")?;
        self.0
            .chars()
            .take(6)
            .try_for_each(|shown| write!(f, "{shown}"))?;
        f.write_str("…)")
    }
}

/// Why a body has no key where the route looks for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySourceError {
    place: String,
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Alike(usize),
    Array,
    Bool,
    Boundary(BoundaryError),
    Charset,
    DuplicateField(usize),
    DuplicateName(usize),
    Empty,
    Elsewhere,
    File,
    Fraction,
    Json(JsonError),
    Missing,
    Multipart(MultipartError),
    NotUtf8,
    Null,
    Object,
    Percent(usize),
}

impl KeySourceError {
    fn new(place: &str, reason: Reason) -> Self {
        Self {
            place: place.to_owned(),
            reason,
        }
    }

    /// The field `name` is in a multipart form whose parts cannot be told apart.
    pub(crate) fn of_boundary(name: &str, fault: BoundaryError) -> Self {
        Self::new(name, Reason::Boundary(fault))
    }
}

/// Takes a key that is in a query or a form only if the other of the two has none of this name, or the same:
/// many servers read both as one, and not all of them the same first.
///
/// # Errors
///
/// [`KeySourceError`] if they differ, or what is wrong in the other one.
pub(crate) fn agreed(
    name: &str,
    key: KeyText,
    elsewhere: Option<Result<KeyText, KeySourceError>>,
) -> Result<KeyText, KeySourceError> {
    match elsewhere {
        None => Ok(key),
        Some(Ok(other)) if other == key => Ok(key),
        Some(Ok(_)) => Err(KeySourceError::new(name, Reason::Elsewhere)),
        Some(Err(error)) if error.reason == Reason::Missing => Ok(key),
        Some(Err(error)) => Err(error),
    }
}

impl fmt::Display for KeySourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WANTED: &str = "a key is a non-empty string or a number";
        let place = &self.place;
        match &self.reason {
            Reason::Alike(at) => write!(
                f,
                "'{place}' is ambiguous: another spelling of its name is read as the same by some servers (byte {at})"
            ),
            Reason::Array => write!(f, "'{place}' is an array; {WANTED}"),
            Reason::Boundary(fault) => write!(f, "'{place}' cannot be read: {fault}"),
            Reason::Bool => write!(f, "'{place}' is true or false; {WANTED}"),
            Reason::Charset => write!(
                f,
                "'{place}' is not UTF-8 by the charset that the form names for it; send it as UTF-8"
            ),
            Reason::DuplicateField(at) => {
                write!(f, "'{place}' occurs twice; send it once (byte {at})")
            }
            Reason::DuplicateName(at) => write!(
                f,
                "'{place}' is ambiguous: a member name on its path occurs twice (byte {at})"
            ),
            Reason::Empty => write!(f, "'{place}' is empty; {WANTED}"),
            Reason::Elsewhere => write!(
                f,
                "'{place}' is ambiguous: query and form do not say the same of it, and some servers read both"
            ),
            Reason::File => write!(f, "'{place}' is a file; {WANTED}"),
            Reason::Fraction => write!(
                f,
                "'{place}' is a number with a point, an exponent or a minus before its zero; write it as a whole number, which has one spelling"
            ),
            Reason::Json(error) => write!(f, "'{place}' cannot be read: {error}"),
            Reason::Missing => write!(f, "'{place}' is missing; the key is taken from it"),
            Reason::Multipart(error) => write!(f, "'{place}' cannot be read: {error}"),
            Reason::NotUtf8 => write!(f, "'{place}' is not valid UTF-8"),
            Reason::Null => write!(f, "'{place}' is null; {WANTED}"),
            Reason::Object => write!(f, "'{place}' is an object; {WANTED}"),
            Reason::Percent(at) => write!(
                f,
                "'{place}' cannot be read: two hexadecimal digits must follow '%' (byte {at})"
            ),
        }
    }
}

impl core::error::Error for KeySourceError {}

#[cfg(test)]
mod tests {
    use alloc::format;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn logs_show_only_the_beginning_of_a_key() {
        let key = KeyText::new("bestellung-42".into()).unwrap();
        assert_eq!(format!("{key:?}"), "KeyText(bestel…)");
        let short = KeyText::new("订单号".into()).unwrap();
        assert_eq!(format!("{short:?}"), "KeyText(订单号…)");
    }
}
