//! A key taken from a JSON body by a pointer (RFC 6901; rule K2).
//!
//! A pointer names one value or none: a body in which a member name on its way occurs twice has no
//! key, because the next reader might take the other member.

#[cfg(test)]
mod tests;

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::json::{Event, JsonError, Reader, Text};
use super::{KeySourceError, KeyText, Reason, alike};

/// A place in a JSON document, such as `/order/id` or `/items/0`.
///
/// # Syntax
///
/// - the empty pointer is the whole document;
/// - each `/` begins a member name or an array index (digits without a leading zero);
/// - in a name `~1` is `/` and `~0` is `~`. Another `~` is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    tokens: Vec<Token>,
}

/// One step of a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    name: String,
    index: Option<usize>,
}

impl Pointer {
    /// Reads a pointer.
    ///
    /// # Errors
    ///
    /// [`PointerError`] says what is wrong and at which byte.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let mut steps = text.split('/');
        if steps.next() != Some("") {
            return Err(PointerError::NoSlash);
        }
        let mut tokens = Vec::new();
        let mut at = 1;
        for step in steps {
            tokens.push(Token::parse(step).map_err(|index| PointerError::Tilde(at + index + 1))?);
            at += step.len() + 1;
        }
        Ok(Self {
            text: text.to_owned(),
            tokens,
        })
    }

    /// The pointer, as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl Token {
    /// Reads a step; an error is the index of a stray `~`.
    fn parse(step: &str) -> Result<Self, usize> {
        let mut name = String::new();
        let mut rest = step.chars();
        while let Some(character) = rest.next() {
            name.push(match character {
                '~' => match rest.next() {
                    Some('0') => '~',
                    Some('1') => '/',
                    stray => {
                        let behind = rest.as_str().len() + stray.map_or(0, char::len_utf8);
                        return Err(step.len() - behind - 1);
                    }
                },
                _ => character,
            });
        }
        let is_index = name.bytes().all(|byte| byte.is_ascii_digit())
            && (name == "0" || !name.starts_with('0'));
        Ok(Self {
            index: name.parse().ok().filter(|_| is_index),
            name,
        })
    }

    pub(super) fn is_name(&self, name: Text<'_>) -> bool {
        name == *self.name
    }

    pub(super) fn is_index(&self, index: usize) -> bool {
        self.index == Some(index)
    }
}

/// Why a text is not a JSON pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PointerError {
    /// It is not empty and does not begin with `/`.
    NoSlash,
    /// At this byte, counted from 1, is a `~` without `0` or `1` behind it.
    Tilde(usize),
}

impl fmt::Display for PointerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSlash => f.write_str("a JSON pointer begins with '/', such as /order/id"),
            Self::Tilde(at) => write!(f, "write '~0' for '~' and '~1' for '/' (byte {at})"),
        }
    }
}

impl core::error::Error for PointerError {}

/// Takes the key at `pointer` from a JSON body whose sender is trusted not to hide another one in it.
///
/// A string gives its text, unescaped. A number gives its *source text* and never passes through a
/// double: order numbers longer than 53 bits stay apart. The string `"100"` and the number `100` are one
/// key.
///
/// # Errors
///
/// [`KeySourceError`] says what is there instead, or why the body is not JSON.
pub fn key_value(body: &[u8], pointer: &Pointer) -> Result<KeyText, KeySourceError> {
    find(body, &pointer.tokens, Names::AsWritten)
        .and_then(text_of)
        .map_err(|reason| KeySourceError::new(&pointer.text, reason))
}

/// The same from anybody's body: one in which some server might find another key is refused, and so is a
/// number that can be spelled in several ways, such as `1e2`, which is 100 to most of them.
///
/// # Errors
///
/// As [`key_value`].
pub fn only_key_value(body: &[u8], pointer: &Pointer) -> Result<KeyText, KeySourceError> {
    let found = find(body, &pointer.tokens, Names::AsSomeRead);
    let whole = found.and_then(|found| match found {
        Some(Event::Number(number)) if !is_whole(number) => Err(Reason::Fraction),
        found => text_of(found),
    });
    whole.map_err(|reason| KeySourceError::new(&pointer.text, reason))
}

/// Which names on a pointer's way count as its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Those that are written so. Others are other members.
    AsWritten,
    /// The same; others that some reader takes for it are an error.
    AsSomeRead,
}

/// Whether a number has one spelling.
fn is_whole(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    number != "-0" && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text of the string, number, `true`, `false` or `null` at `pointer`, cut off behind `longest`
/// characters. `None` if there is none, or if the body could be read in two ways.
pub fn scalar_at(body: &[u8], pointer: &Pointer, longest: usize) -> Option<String> {
    Some(match find(body, &pointer.tokens, Names::AsWritten).ok()?? {
        Event::Bool(true) => "true".to_owned(),
        Event::Bool(false) => "false".to_owned(),
        Event::Null => "null".to_owned(),
        Event::Number(number) => number.chars().take(longest).collect(),
        Event::String(text) => text.chars().take(longest).collect(),
        _ => return None,
    })
}

/// Whether the body is JSON in which `pointer` names one value or none.
pub fn can_be_read(body: &[u8], pointer: &Pointer) -> bool {
    find(body, &pointer.tokens, Names::AsWritten).is_ok()
}

fn text_of(value: Option<Event<'_>>) -> Result<KeyText, Reason> {
    match value.ok_or(Reason::Missing)? {
        Event::Bool(_) => Err(Reason::Bool),
        Event::Null => Err(Reason::Null),
        Event::ArrayStart => Err(Reason::Array),
        Event::Number(number) => KeyText::new(number.to_owned()),
        Event::String(text) => KeyText::new(text.chars().collect()),
        _ => Err(Reason::Object),
    }
}

/// The event with which the value at `tokens` begins. Reads the whole body, so that no error and
/// no second member goes unnoticed.
fn find<'a>(body: &'a [u8], tokens: &[Token], names: Names) -> Result<Option<Event<'a>>, Reason> {
    let mut reader = Reader::new(body)?;
    let first = reader.read()?;
    let found = descend(&mut reader, first, tokens, names)?;
    reader.read()?;
    Ok(found)
}

/// Reads the value that begins with `first`. The nesting of the body bounds the recursion.
fn descend<'a>(
    reader: &mut Reader<'a>,
    first: Event<'a>,
    tokens: &[Token],
    names: Names,
) -> Result<Option<Event<'a>>, Reason> {
    let Some((token, deeper)) = tokens.split_first() else {
        reader.skip(first)?;
        return Ok(Some(first));
    };
    match first {
        Event::ArrayStart => element(reader, token, deeper, names),
        Event::ObjectStart => member(reader, token, deeper, names),
        _ => Ok(None),
    }
}

fn element<'a>(
    reader: &mut Reader<'a>,
    token: &Token,
    deeper: &[Token],
    names: Names,
) -> Result<Option<Event<'a>>, Reason> {
    let mut found = None;
    for index in 0.. {
        match reader.read()? {
            Event::ArrayEnd => break,
            first if token.is_index(index) => found = descend(reader, first, deeper, names)?,
            first => reader.skip(first)?,
        }
    }
    Ok(found)
}

fn member<'a>(
    reader: &mut Reader<'a>,
    token: &Token,
    deeper: &[Token],
    names: Names,
) -> Result<Option<Event<'a>>, Reason> {
    let mut found = None;
    while let Event::Name(name) = reader.read()? {
        let position = reader.position();
        let first = reader.read()?;
        if !token.is_name(name) {
            if names == Names::AsSomeRead && alike::is_member(name, &token.name) {
                return Err(Reason::Alike(position));
            }
            reader.skip(first)?;
        } else if found.is_some() {
            return Err(Reason::DuplicateName(position));
        } else {
            found = Some(descend(reader, first, deeper, names)?);
        }
    }
    Ok(found.flatten())
}

impl From<JsonError> for Reason {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}
