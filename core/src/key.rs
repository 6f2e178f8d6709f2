//! The idempotency key: its grammar and its two spellings (rule K1).
//!
//! - **bare**: 1 to 255 of letters, digits and `-_.~:/+=@!$&'()*#`;
//! - **quoted** (a structured-field string): 1 to 255 printable ASCII characters except comma, with
//!   `\"` and `\\` as the only escapes. Parameters behind it are ignored.
//!
//! Both spellings of one value are one key. Everything else is refused, with the position. A comma
//! is refused everywhere, because runtimes join repeated header lines with `", "`: a list of keys
//! must never pass as one.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use uuid::Uuid;

/// The most characters a key may have.
pub const MAX_LENGTH: usize = 255;

const BARE_PUNCTUATION: &[u8] = b"-_.~:/+=@!$&'()*#";

/// A client's name for an operation. Always valid: a parser or a UUID makes it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

/// Who made a key (`Oncegate-Key-Kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract's list; a new kind is a new version"
)]
pub enum KeyKind {
    /// The client drew or derived it and may draw another one.
    Client,
    /// The gate took it from the request, such as an order number: there is no other one.
    Generated,
    /// The gate issued it.
    Token,
}

impl KeyKind {
    /// Reads a header value.
    pub fn parse(value: &str) -> Option<Self> {
        Some(match value {
            "client" => Self::Client,
            "generated" => Self::Generated,
            "token" => Self::Token,
            _ => return None,
        })
    }

    /// The header value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Generated => "generated",
            Self::Token => "token",
        }
    }
}

impl Key {
    /// Reads a header value. White space around it is not part of it.
    ///
    /// # Errors
    ///
    /// [`KeyError`] says what is wrong and at which character of the value, counted from 1.
    pub fn parse(value: &str) -> Result<Self, KeyError> {
        let trimmed = value.trim_start_matches([' ', '\t']);
        let offset = value.len() - trimmed.len();
        let trimmed = trimmed.trim_end_matches([' ', '\t']);
        let parsed = match trimmed.as_bytes() {
            [] => Err(KeyError::new(KeyErrorKind::Empty, 0)),
            [b'"', rest @ ..] => parse_quoted(rest),
            bare => parse_bare(trimmed, bare),
        };
        parsed.map_err(|error| KeyError {
            position: error.position + offset,
            ..error
        })
    }

    /// Takes a value that is not a header, such as an order number, as a key.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if no spelling of a key has this value.
    pub fn from_value(value: &str) -> Result<Self, KeyError> {
        let fault = |kind, index| Err(KeyError::new(kind, index));
        for (index, byte) in value.bytes().enumerate() {
            match refused_everywhere(byte) {
                Some(kind) => return fault(kind, index),
                None if byte == b',' => return fault(KeyErrorKind::Comma, index),
                None if index == MAX_LENGTH => return fault(KeyErrorKind::TooLong, index),
                None => {}
            }
        }
        match value {
            "" => fault(KeyErrorKind::Empty, 0),
            _ => Ok(Self(value.to_owned())),
        }
    }

    /// A UUID's digits and hyphens are a bare key.
    pub(crate) fn from_uuid(uuid: Uuid) -> Self {
        let mut text = Uuid::encode_buffer();
        let text: &str = uuid.hyphenated().encode_lower(&mut text);
        Self(text.to_owned())
    }

    /// The key itself, without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The one spelling used towards the origin: bare if it fits, else quoted.
    pub fn to_header(&self) -> String {
        if self.0.bytes().all(is_bare) {
            return self.0.clone();
        }
        let mut quoted = String::with_capacity(self.0.len() + 2);
        quoted.push('"');
        for character in self.0.chars() {
            if matches!(character, '"' | '\\') {
                quoted.push('\\');
            }
            quoted.push(character);
        }
        quoted.push('"');
        quoted
    }
}

/// Shows the first characters only: keys are secrets of a kind, and logs are read by many.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..6).unwrap_or_default();
        write!(f, "Key({shown}…)")
    }
}

/// Why a header value is not a key, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError {
    kind: KeyErrorKind,
    position: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyErrorKind {
    AfterQuote,
    BadEscape,
    Character(u8),
    Comma,
    Control,
    Empty,
    NonAscii,
    Parameter,
    ParameterOnBare,
    TooLong,
    Unterminated,
}

impl KeyError {
    fn new(kind: KeyErrorKind, index: usize) -> Self {
        Self {
            kind,
            position: index + 1,
        }
    }

    /// The offending character's position in the header value, counted from 1.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            KeyErrorKind::AfterQuote => {
                f.write_str("only parameters may follow the closing quote")?;
            }
            KeyErrorKind::BadEscape => {
                f.write_str("a backslash may only precede a quote or a backslash")?;
            }
            KeyErrorKind::Character(byte) => write!(
                f,
                "'{}' is not allowed in a bare key; put the key in double quotes",
                char::from(byte)
            )?,
            KeyErrorKind::Comma => {
                f.write_str("a comma is not allowed: one request carries one key")?;
            }
            KeyErrorKind::Control => f.write_str("control characters are not allowed")?,
            KeyErrorKind::Empty => return f.write_str("the key is empty"),
            KeyErrorKind::NonAscii => f.write_str("only ASCII characters are allowed")?,
            KeyErrorKind::Parameter => f.write_str("a malformed parameter follows the key")?,
            KeyErrorKind::ParameterOnBare => {
                f.write_str("a bare key has no parameters; put the key in double quotes")?;
            }
            KeyErrorKind::TooLong => write!(f, "the key is longer than {MAX_LENGTH} characters")?,
            KeyErrorKind::Unterminated => f.write_str("the closing quote is missing")?,
        }
        write!(f, " (character {})", self.position)
    }
}

impl core::error::Error for KeyError {}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || BARE_PUNCTUATION.contains(&byte)
}

fn parse_bare(text: &str, bytes: &[u8]) -> Result<Key, KeyError> {
    if let Some(index) = bytes.iter().position(|byte| !is_bare(*byte)) {
        let kind = match bytes[index] {
            b',' => KeyErrorKind::Comma,
            b';' => KeyErrorKind::ParameterOnBare,
            byte => refused_everywhere(byte).unwrap_or(KeyErrorKind::Character(byte)),
        };
        return Err(KeyError::new(kind, index));
    }
    if bytes.len() > MAX_LENGTH {
        return Err(KeyError::new(KeyErrorKind::TooLong, MAX_LENGTH));
    }
    Ok(Key(text.to_owned()))
}

/// `rest` is what follows the opening quote, which is character 1.
fn parse_quoted(rest: &[u8]) -> Result<Key, KeyError> {
    let mut value = String::new();
    let mut index = 0;
    loop {
        let at = index + 1;
        let error = |kind| KeyError::new(kind, at);
        let Some(&byte) = rest.get(index) else {
            return Err(error(KeyErrorKind::Unterminated));
        };
        let character = match byte {
            b'"' => break,
            b'\\' => match rest.get(index + 1) {
                Some(&escaped @ (b'"' | b'\\')) => {
                    index += 1;
                    escaped
                }
                _ => return Err(error(KeyErrorKind::BadEscape)),
            },
            b',' => return Err(error(KeyErrorKind::Comma)),
            _ => match refused_everywhere(byte) {
                Some(kind) => return Err(error(kind)),
                None => byte,
            },
        };
        if value.len() == MAX_LENGTH {
            return Err(error(KeyErrorKind::TooLong));
        }
        value.push(char::from(character));
        index += 1;
    }
    if value.is_empty() {
        return Err(KeyError::new(KeyErrorKind::Empty, index));
    }
    let after = index + 1;
    check_parameters(&rest[after..]).map_err(|(kind, at)| KeyError::new(kind, after + at + 1))?;
    Ok(Key(value))
}

fn refused_everywhere(byte: u8) -> Option<KeyErrorKind> {
    match byte {
        0x20..=0x7e => None,
        0x80.. => Some(KeyErrorKind::NonAscii),
        _ => Some(KeyErrorKind::Control),
    }
}

/// Walks over structured-field parameters: they are ignored, but they must not hide a second key.
fn check_parameters(mut rest: &[u8]) -> Result<(), (KeyErrorKind, usize)> {
    let length = rest.len();
    while let [first, after @ ..] = rest {
        let at = length - rest.len();
        match first {
            b';' => {}
            b',' => return Err((KeyErrorKind::Comma, at)),
            _ => return Err((KeyErrorKind::AfterQuote, at)),
        }
        rest = after.trim_ascii_start();
        rest = skip_parameter(rest).ok_or((KeyErrorKind::Parameter, length - rest.len()))?;
    }
    Ok(())
}

/// Skips `name[=item]`; `None` if there is no parameter here.
fn skip_parameter(bytes: &[u8]) -> Option<&[u8]> {
    let is_name =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(byte);
    if !bytes
        .first()
        .is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b'*')
    {
        return None;
    }
    let name = bytes.iter().take_while(|byte| is_name(byte)).count();
    match &bytes[name..] {
        [b'=', b'"', string @ ..] => skip_string(string),
        [b'=', item @ ..] => {
            let is_item = |byte: &u8| byte.is_ascii_graphic() && !b"\",;\\".contains(byte);
            match item.iter().take_while(|byte| is_item(byte)).count() {
                0 => None,
                length => Some(&item[length..]),
            }
        }
        rest => Some(rest),
    }
}

fn skip_string(mut bytes: &[u8]) -> Option<&[u8]> {
    loop {
        bytes = match bytes {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', b'"' | b'\\', rest @ ..] => rest,
            [b',', ..] => return None,
            [0x20..=0x5b | 0x5d..=0x7e, rest @ ..] => rest,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests;
