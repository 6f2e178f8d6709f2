//! What a JSON body says, as one text and its digest (rule K3).
//!
//! Two bodies have the same canonical text if and only if they say the same, apart from what is
//! excluded. The text is that of RFC 8785, except for numbers, which that RFC reads as doubles:
//! here `0.1` and `0.10` are equal and no two different decimal numbers are.
//!
//! # Canonical text
//!
//! - No white space; members sorted by the UTF-16 code units of their unescaped names.
//! - Strings: only what must be escaped is escaped, as `\b`, `\t`, `\n`, `\f`, `\r`, `\"`, `\\` or
//!   `\u00xx` in lower case.
//! - Numbers: a minus sign if negative; the digits without zeros at either end; then `e` and the
//!   power of ten, unless it is 0. So `1e2` for `100.0`, `15e-1` for `1.5`, `0` for `-0.0`.
//! - An excluded member is left out. An excluded array element becomes `~`, which no JSON text
//!   contains outside of a string: the elements behind it keep their positions, and the length of
//!   the array still counts. An excluded document is `~`.

mod number;
#[cfg(test)]
mod spelling;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use sha2::{Digest, Sha256};

use super::json::{Event, JsonError, JsonErrorKind, Reader, Text};
use super::pointer::{Pointer, Token};

const EXCLUDED: char = '~';

/// What is left of an excluded pointer at some place in the document.
type Path<'p> = &'p [Token];

/// SHA-256 of the [`text`], behind a prefix that keeps it apart from the digest of raw bytes.
///
/// # Errors
///
/// As [`text`].
pub fn digest(body: &[u8], excluded: &[Pointer]) -> Result<[u8; 32], JsonError> {
    let text = text(body, excluded)?;
    Ok(Sha256::new()
        .chain_update(b"oncegate-json-v1\0")
        .chain_update(text)
        .finalize()
        .into())
}

/// The canonical text of a body without what is `excluded`. A pointer to nothing excludes nothing.
///
/// # Errors
///
/// [`JsonError`] if the body is not JSON, if a member name occurs twice in an object, or if a
/// written exponent is over 64 bits. What such a body says depends on who reads it.
pub fn text(body: &[u8], excluded: &[Pointer]) -> Result<String, JsonError> {
    let mut writer = Writer {
        reader: Reader::new(body)?,
        out: String::new(),
        sorted: String::new(),
    };
    let paths: Vec<Path<'_>> = excluded.iter().map(Pointer::tokens).collect();
    let first = writer.reader.read()?;
    if !writer.include(first, &paths)? {
        writer.out.push(EXCLUDED);
    }
    writer.reader.read()?;
    Ok(writer.out)
}

/// Writes each value behind the ones before it, and sorts the members of an object when it ends: a
/// byte is moved once for each object around it.
struct Writer<'a> {
    reader: Reader<'a>,
    out: String,
    /// Members on their way to their places.
    sorted: String,
}

/// Where a member stands in the output. An excluded one takes no room there, but its name counts.
struct Member<'a> {
    name: Text<'a>,
    position: usize,
    from: usize,
    to: usize,
}

impl<'a> Writer<'a> {
    /// Writes the value that begins with `first`, or reads over it and says `false` if it is
    /// excluded.
    fn include(&mut self, first: Event<'a>, paths: &[Path<'_>]) -> Result<bool, JsonError> {
        let from = self.out.len();
        self.value(first, paths)?;
        let excluded = paths.iter().any(|path| path.is_empty());
        if excluded {
            self.out.truncate(from);
        }
        Ok(!excluded)
    }

    fn value(&mut self, first: Event<'a>, paths: &[Path<'_>]) -> Result<(), JsonError> {
        match first {
            Event::ArrayStart => return self.array(paths),
            Event::ObjectStart => return self.object(paths),
            Event::Bool(true) => self.out.push_str("true"),
            Event::Bool(false) => self.out.push_str("false"),
            Event::Number(source) => {
                let exponent = JsonErrorKind::Exponent;
                number::write(&mut self.out, source)
                    .ok_or_else(|| JsonError::new(exponent, self.reader.position() - 1))?;
            }
            Event::String(text) => write_string(&mut self.out, text),
            _ => self.out.push_str("null"),
        }
        Ok(())
    }

    fn array(&mut self, paths: &[Path<'_>]) -> Result<(), JsonError> {
        self.out.push('[');
        for index in 0.. {
            let first = match self.reader.read()? {
                Event::ArrayEnd => break,
                first => first,
            };
            if index > 0 {
                self.out.push(',');
            }
            let deeper = below(paths, |token| token.is_index(index));
            if !self.include(first, &deeper)? {
                self.out.push(EXCLUDED);
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, paths: &[Path<'_>]) -> Result<(), JsonError> {
        let start = self.out.len();
        let mut members = Vec::new();
        while let Event::Name(name) = self.reader.read()? {
            let position = self.reader.position();
            let from = self.out.len();
            write_string(&mut self.out, name);
            self.out.push(':');
            let deeper = below(paths, |token| token.is_name(name));
            let first = self.reader.read()?;
            if !self.include(first, &deeper)? {
                self.out.truncate(from);
            }
            members.push(Member {
                name,
                position,
                from,
                to: self.out.len(),
            });
        }
        sort(&mut members)?;
        self.arrange(start, &members);
        Ok(())
    }

    /// Puts the members, which stand behind `start`, into an object.
    fn arrange(&mut self, start: usize, members: &[Member<'_>]) {
        self.sorted.clear();
        for member in members.iter().filter(|member| member.from < member.to) {
            self.sorted
                .push(if self.sorted.is_empty() { '{' } else { ',' });
            self.sorted.push_str(&self.out[member.from..member.to]);
        }
        if self.sorted.is_empty() {
            self.sorted.push('{');
        }
        self.sorted.push('}');
        self.out.truncate(start);
        self.out.push_str(&self.sorted);
    }
}

/// The paths that go on below the step that `is_step` knows.
fn below<'p>(paths: &[Path<'p>], is_step: impl Fn(&Token) -> bool) -> Vec<Path<'p>> {
    paths
        .iter()
        .filter_map(|path| path.split_first())
        .filter(|(token, _)| is_step(token))
        .map(|(_, deeper)| deeper)
        .collect()
}

fn sort(members: &mut [Member<'_>]) -> Result<(), JsonError> {
    members.sort_unstable_by(|one, other| units(one.name).cmp(units(other.name)));
    for pair in members.windows(2) {
        if units(pair[0].name).eq(units(pair[1].name)) {
            let second = pair[0].position.max(pair[1].position);
            return Err(JsonError::new(JsonErrorKind::DuplicateName, second - 1));
        }
    }
    Ok(())
}

fn units(text: Text<'_>) -> impl Iterator<Item = u16> {
    text.chars().flat_map(|character| {
        let mut units = [0; 2];
        let length = character.encode_utf16(&mut units).len();
        units.into_iter().take(length)
    })
}

fn write_string(out: &mut String, text: Text<'_>) {
    out.push('"');
    for character in text.chars() {
        match character {
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\0'..='\u{1f}' => {
                write!(out, "\\u{:04x}", u32::from(character)).expect("a String takes everything");
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}
