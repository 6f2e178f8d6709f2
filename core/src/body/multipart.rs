//! Multipart forms (RFC 7578): what they say, and a key taken from one of their fields.
//!
//! A form is its parts in order; the boundary, which clients draw anew for every send, is not part
//! of what is said (rule K3). Framing or headers that two readers could split differently are
//! refused:
//!
//! - the body begins with the boundary; after the closing one comes a line end or nothing;
//! - a part is header lines that end in CRLF, an empty line, and its bytes up to the next line that
//!   begins with the boundary;
//! - a part has one `Content-Disposition: form-data` with one `name`, which has no backslash, and at
//!   most one `filename`; quoted values have no `\"`, and `name*` and `filename*` are refused;
//! - a part is sent as it is: `Content-Transfer-Encoding` is `7bit`, `8bit` or `binary`.

mod boundary;
mod error;
mod header;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

pub use self::boundary::{Boundary, BoundaryError};
pub use self::error::MultipartError;
use self::error::MultipartErrorKind;
use self::header::Headers;
use super::{KeySourceError, KeyText, Reason, alike, charset};

/// A part of a form. Names are as written between their quotes: browsers write a quote as `%22`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part<'a> {
    /// The field's name.
    pub name: &'a [u8],
    /// The file's name. A file field without a file has an empty one.
    pub filename: Option<&'a [u8]>,
    /// Type and subtype of its `Content-Type`, in lower case.
    pub content_type: Option<String>,
    /// Whether its `Content-Type` names another charset than UTF-8, in which some servers read it.
    pub has_other_charset: bool,
    /// Its content.
    pub bytes: &'a [u8],
    /// The place of its first header line in the body, counted from 1.
    pub position: usize,
}

/// The parts of a body, in order.
///
/// # Errors
///
/// [`MultipartError`] says what is wrong and at which byte.
pub fn parts<'a>(body: &'a [u8], boundary: &Boundary) -> Result<Vec<Part<'a>>, MultipartError> {
    let error = |kind, index| Err(MultipartError::new(kind, index));
    let delimiter = boundary.delimiter();
    let opening = &delimiter[2..];
    if !body.starts_with(opening) {
        return error(MultipartErrorKind::NoOpening, 0);
    }
    let mut at = opening.len();
    let mut parts = Vec::new();
    while !body[at..].starts_with(b"--") {
        let Some(start) = line_end(body, at) else {
            return error(MultipartErrorKind::AfterBoundary, at);
        };
        let Some(end) = find(body, start, &delimiter) else {
            return error(MultipartErrorKind::NoClosing, body.len());
        };
        parts.push(part(&body[start..end], start)?);
        at = end + delimiter.len();
    }
    let behind = at + 2;
    if skip_padding(body, behind) < body.len() && line_end(body, behind).is_none() {
        return error(MultipartErrorKind::AfterClosing, behind);
    }
    Ok(parts)
}

/// SHA-256 of the parts in order: of each its name, file name, content type and bytes, every one
/// behind its length and whether it is there. A prefix keeps it apart from the digest of raw bytes.
///
/// # Errors
///
/// As [`parts`].
pub fn digest(body: &[u8], boundary: &Boundary) -> Result<[u8; 32], MultipartError> {
    let mut hash = Sha256::new_with_prefix(b"oncegate-multipart-v1\0");
    for part in parts(body, boundary)? {
        let content_type = part.content_type.as_deref().map(str::as_bytes);
        for value in [
            Some(part.name),
            part.filename,
            content_type,
            Some(part.bytes),
        ] {
            hash.update([u8::from(value.is_some())]);
            hash.update((value.unwrap_or_default().len() as u64).to_be_bytes());
            hash.update(value.unwrap_or_default());
        }
    }
    Ok(hash.finalize().into())
}

/// Takes the key from the field `name`.
///
/// # Errors
///
/// [`KeySourceError`] if the field is missing, empty, a file, not UTF-8 or there twice, or if the
/// body is malformed.
pub fn field(body: &[u8], boundary: &Boundary, name: &str) -> Result<KeyText, KeySourceError> {
    parts(body, boundary)
        .map_err(Reason::Multipart)
        .and_then(|parts| value_of(&parts, name))
        .map_err(|reason| KeySourceError::new(name, reason))
}

fn value_of(parts: &[Part<'_>], name: &str) -> Result<KeyText, Reason> {
    let wanted = name.as_bytes();
    let mut named = parts
        .iter()
        .filter(|part| alike::is_field(part.name, wanted));
    if let Some(other) = named.clone().find(|part| part.name != wanted) {
        return Err(Reason::Alike(other.position));
    }
    let part = named.next().ok_or(Reason::Missing)?;
    match named.next() {
        Some(second) => Err(Reason::DuplicateField(second.position)),
        None if part.filename.is_some() => Err(Reason::File),
        None if part.has_other_charset || parts.iter().any(names_charset) => Err(Reason::Charset),
        None => KeyText::from_utf8(part.bytes),
    }
}

/// Whether a part says that the others are not UTF-8 (RFC 7578, section 4.6).
fn names_charset(part: &Part<'_>) -> bool {
    alike::is_field(part.name, b"_charset_") && !charset::is_utf8(part.bytes)
}

fn part(part: &[u8], start: usize) -> Result<Part<'_>, MultipartError> {
    let mut headers = Headers::default();
    let mut at = 0;
    loop {
        let Some(length) = find(&part[at..], 0, b"\r\n") else {
            return Err(MultipartError::new(MultipartErrorKind::NoBlank, start));
        };
        let line = &part[at..at + length];
        let line_start = start + at;
        at += length + 2;
        if line.is_empty() {
            break;
        }
        headers
            .add(line)
            .map_err(|kind| MultipartError::new(kind, line_start))?;
    }
    let Some(name) = headers.name else {
        return Err(MultipartError::new(MultipartErrorKind::NoName, start));
    };
    Ok(Part {
        name,
        filename: headers.filename,
        content_type: headers.content_type,
        has_other_charset: headers.has_other_charset,
        bytes: &part[at..],
        position: start + 1,
    })
}

/// What follows the line end at `at`, before which there may be padding.
fn line_end(body: &[u8], at: usize) -> Option<usize> {
    let at = skip_padding(body, at);
    body[at..].starts_with(b"\r\n").then_some(at + 2)
}

fn skip_padding(body: &[u8], at: usize) -> usize {
    let is_padding = |byte: &&u8| matches!(byte, b' ' | b'\t');
    at + body[at..].iter().take_while(is_padding).count()
}

/// Where `pattern` begins in `body`, at `from` or later. The pattern begins with CR and has no
/// other one: what has been compared is never compared again.
fn find(body: &[u8], from: usize, pattern: &[u8]) -> Option<usize> {
    let mut at = from;
    loop {
        at += body[at..].iter().position(|byte| *byte == b'\r')?;
        if body[at..].starts_with(pattern) {
            return Some(at);
        }
        at += 1;
    }
}
