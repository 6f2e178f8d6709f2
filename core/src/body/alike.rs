//! Names that some reader takes for another one.
//!
//! Whoever reads a request after the gate may compare names of members and fields more leniently than they
//! are written: in any case (Go and .NET), with `.`, a space and `[` taken for `_` (PHP), taken apart at
//! brackets (PHP, Rack, `qs`) and dots (`qs`, Spring, ASP.NET), up to a NUL (C). A key that the gate takes from
//! one spelling must not be another one's there.

use super::json::Text;

/// Whether a member's name could be read as `wanted`.
pub(super) fn is_member(name: Text<'_>, wanted: &str) -> bool {
    folded(name.chars()).eq(folded(wanted.chars()))
}

/// Whether the name of a field of a form or query, decoded, could be read as `wanted`, or as something in it:
/// `no[]`, `[no]` and `no.x` beside `no`.
pub(crate) fn is_field(name: &[u8], wanted: &[u8]) -> bool {
    let (name, wanted) = (whole(name), whole(wanted));
    begins(parts(name, b".[]"), parts(wanted, b".[]"))
        || begins(parts(name, brackets(name)), parts(wanted, brackets(wanted)))
}

fn folded(characters: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let whole = characters.take_while(|character| *character != '\0');
    whole
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

/// A name without white space in front, up to a NUL.
fn whole(name: &[u8]) -> &[u8] {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let front = name.iter().take_while(|byte| **byte == b' ').count();
    &name[front..]
}

/// What separates the parts of a name in PHP, where a dot is a `_` and so is a bracket that nothing closes.
fn brackets(name: &[u8]) -> &'static [u8] {
    match name.contains(&b']') {
        true => b"[]",
        false => b"",
    }
}

fn parts<'a>(name: &'a [u8], separators: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let parts = name.split(|byte| separators.contains(byte));
    parts.filter(|part| !part.is_empty())
}

fn begins<'a>(
    mut name: impl Iterator<Item = &'a [u8]>,
    wanted: impl Iterator<Item = &'a [u8]>,
) -> bool {
    let mut wanted = wanted.peekable();
    match wanted.peek() {
        None => name.next().is_none(),
        Some(_) => wanted.all(|wanted| name.next().is_some_and(|name| is_part(name, wanted))),
    }
}

fn is_part(name: &[u8], wanted: &[u8]) -> bool {
    let read = |byte: &u8| match byte {
        b'.' | b' ' | b'[' => b'_',
        byte => byte.to_ascii_lowercase(),
    };
    name.iter().map(read).eq(wanted.iter().map(read))
}
