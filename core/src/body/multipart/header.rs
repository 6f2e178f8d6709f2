//! A part's header lines.

use alloc::string::String;

use super::error::MultipartErrorKind;
use crate::body::charset;

/// What the header lines of a part say so far.
#[derive(Default)]
pub(super) struct Headers<'a> {
    pub(super) name: Option<&'a [u8]>,
    pub(super) filename: Option<&'a [u8]>,
    pub(super) content_type: Option<String>,
    pub(super) has_other_charset: bool,
    disposed: bool,
    encoded: bool,
}

impl<'a> Headers<'a> {
    /// Adds a line, without its end. Lines of other names are of no interest.
    pub(super) fn add(&mut self, line: &'a [u8]) -> Result<(), MultipartErrorKind> {
        let (field, value) = split(line).ok_or(MultipartErrorKind::HeaderLine)?;
        let is = |name: &str| field.eq_ignore_ascii_case(name.as_bytes());
        if is("content-disposition") {
            self.dispose(value)
        } else if is("content-type") {
            self.has_other_charset = charset::is_other(value);
            set(&mut self.content_type, media_type(value)?)
        } else if is("content-transfer-encoding") {
            self.encode(value)
        } else {
            Ok(())
        }
    }

    fn dispose(&mut self, value: &'a [u8]) -> Result<(), MultipartErrorKind> {
        once(&mut self.disposed)?;
        let (disposition, rest) = first(value);
        if !disposition.eq_ignore_ascii_case(b"form-data") {
            return Err(MultipartErrorKind::Disposition);
        }
        for parameter in parameters(rest) {
            let (name, value) = parameter.ok_or(MultipartErrorKind::Parameter)?;
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
            if is("name") {
                if value.contains(&b'\\') {
                    return Err(MultipartErrorKind::Backslash);
                }
                set(&mut self.name, value)?;
            } else if is("filename") {
                set(&mut self.filename, value)?;
            } else if is("name*") || is("filename*") {
                return Err(MultipartErrorKind::Extended);
            }
        }
        Ok(())
    }

    fn encode(&mut self, value: &[u8]) -> Result<(), MultipartErrorKind> {
        once(&mut self.encoded)?;
        let as_is = ["7bit", "8bit", "binary"];
        if !as_is
            .iter()
            .any(|plain| value.eq_ignore_ascii_case(plain.as_bytes()))
        {
            return Err(MultipartErrorKind::Encoding);
        }
        Ok(())
    }
}

fn set<T>(slot: &mut Option<T>, value: T) -> Result<(), MultipartErrorKind> {
    match slot.replace(value) {
        Some(_) => Err(MultipartErrorKind::Twice),
        None => Ok(()),
    }
}

fn once(seen: &mut bool) -> Result<(), MultipartErrorKind> {
    if core::mem::replace(seen, true) {
        return Err(MultipartErrorKind::Twice);
    }
    Ok(())
}

/// Name and value of a line; `None` if it is none. A folded line begins with white space and is
/// none either.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_text = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    let is_line = !name.is_empty() && name.iter().all(is_token) && value.iter().all(is_text);
    is_line.then_some((name, value.trim_ascii()))
}

/// What stands before the first semicolon, and the rest from there on.
fn first(value: &[u8]) -> (&[u8], &[u8]) {
    let end = value.iter().position(|byte| *byte == b';');
    let (first, rest) = value.split_at(end.unwrap_or(value.len()));
    (first.trim_ascii(), rest)
}

fn media_type(value: &[u8]) -> Result<String, MultipartErrorKind> {
    let text = core::str::from_utf8(first(value).0).unwrap_or_default();
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| is_token(&byte));
    match text.split_once('/') {
        Some((kind, subtype)) if is_name(kind) && is_name(subtype) => Ok(text.to_ascii_lowercase()),
        _ => Err(MultipartErrorKind::ContentType),
    }
}

/// Reads `; name=value; name="value"`. An item that is `None` is malformed and the last one.
pub(super) fn parameters(mut rest: &[u8]) -> impl Iterator<Item = Option<(&[u8], &[u8])>> {
    core::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return None;
        }
        let read = parameter(rest);
        rest = read.map_or(&[], |(.., behind)| behind);
        Some(read.map(|(name, value, _)| (name, value)))
    })
}

/// Name and value of the parameter that `text` begins with, and what follows.
fn parameter(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let text = text.strip_prefix(b";")?.trim_ascii_start();
    let (name, text) = text.split_at(text.iter().take_while(|byte| is_token(byte)).count());
    let text = text.strip_prefix(b"=")?;
    let (value, text) = match text {
        [b'"', quoted @ ..] => {
            let (value, behind) = quoted.split_at(quoted.iter().position(|byte| *byte == b'"')?);
            // Some readers end the value here, others read an escaped quote.
            if value.ends_with(b"\\") {
                return None;
            }
            (value, &behind[1..])
        }
        bare => {
            let is_bare = |byte: &&u8| byte.is_ascii_graphic() && !b"\",;\\".contains(byte);
            match bare.iter().take_while(is_bare).count() {
                0 => return None,
                length => bare.split_at(length),
            }
        }
    };
    (!name.is_empty()).then_some((name, value, text))
}

fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}
