//! Names that some reader takes for another one.
//!
//! Whoever reads a request after the gate may compare names of members and fields more leniently than they
//! are written: in any case (Go and .NET), with `.`, a space and `[` taken for `_`, and with `[…]` behind
//! them (PHP), up to a NUL (C). A key that the gate takes from one spelling must not be another one's there.

use alloc::vec::Vec;

use super::json::Text;

/// Whether a member's name could be read as `wanted`.
pub(super) fn is_member(name: Text<'_>, wanted: &str) -> bool {
    folded(name.chars()).eq(folded(wanted.chars()))
}

/// Whether the name of a form's field, decoded, could be read as `wanted`.
pub(super) fn is_field(name: &[u8], wanted: &[u8]) -> bool {
    let (name, wanted) = (without_front(name), as_read(without_front(wanted)));
    let read = as_read(name);
    let is_list = read.len() > wanted.len() && name[wanted.len()] == b'[';
    read == wanted || is_list && read.starts_with(&wanted)
}

fn folded(characters: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let whole = characters.take_while(|character| *character != '\0');
    whole
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

fn without_front(name: &[u8]) -> &[u8] {
    let front = name.iter().take_while(|byte| **byte == b' ').count();
    &name[front..]
}

fn as_read(name: &[u8]) -> Vec<u8> {
    let whole = name.iter().take_while(|byte| **byte != 0);
    whole
        .map(|byte| match byte {
            b'.' | b' ' | b'[' => b'_',
            byte => byte.to_ascii_lowercase(),
        })
        .collect()
}
