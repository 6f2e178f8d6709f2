//! A JSON object of a token, member by member; a member that occurs twice is an error.

use alloc::string::String;
use alloc::vec::Vec;

use super::error::TokenError;
use crate::body::json::{Event, Reader};

pub(super) struct Object<'a> {
    reader: Reader<'a>,
    names: Vec<String>,
}

impl<'a> Object<'a> {
    pub(super) fn open(text: &'a [u8]) -> Result<Self, TokenError> {
        let mut reader = Reader::new(text)?;
        match reader.read()? {
            Event::ObjectStart => Ok(Self {
                reader,
                names: Vec::new(),
            }),
            _ => Err(TokenError::NoObject),
        }
    }

    /// The next member's name; `None` at the end of the text, which the object has to be.
    pub(super) fn name(&mut self) -> Result<Option<String>, TokenError> {
        let Event::Name(name) = self.reader.read()? else {
            self.reader.read()?;
            return Ok(None);
        };
        let name: String = name.chars().collect();
        if self.names.contains(&name) {
            return Err(TokenError::Twice);
        }
        self.names.push(name.clone());
        Ok(Some(name))
    }

    /// Begins to read its value.
    pub(super) fn value(&mut self) -> Result<Event<'a>, TokenError> {
        Ok(self.reader.read()?)
    }

    /// Reads a value to its end.
    pub(super) fn skip(&mut self, first: Event<'_>) -> Result<(), TokenError> {
        Ok(self.reader.skip(first)?)
    }
}
