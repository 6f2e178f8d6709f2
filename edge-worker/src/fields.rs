//! Header fields, read and made in one go.
//!
//! Each crossing between wasm and JavaScript costs more than what is done on either side, and one field
//! read by itself is several. So all of them cross as one text.

use js_sys::JSON;
use serde::{Deserialize, Serialize, Serializer};
use worker::{Error, Headers, Result};

/// Names, which are the same in any case, with their values, in the order in which they were sent.
#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads them as they cross.
    pub(crate) fn read(text: &str) -> Result<Self> {
        Ok(Self(serde_json::from_str(text)?))
    }

    /// Writes them as they cross: as one object, which the platform reads sooner than pairs, unless a
    /// name is there twice.
    pub(crate) fn written(&self) -> Result<String> {
        if self.repeats_a_name() {
            return Ok(serde_json::to_string(&self.0)?);
        }
        let mut text = Vec::new();
        let pairs = self.0.iter().map(|(name, value)| (name, value));
        serde_json::Serializer::new(&mut text).collect_map(pairs)?;
        Ok(String::from_utf8(text).unwrap_or_default())
    }

    fn repeats_a_name(&self) -> bool {
        let mut rest = self.0.as_slice();
        while let Some(((name, _), others)) = rest.split_first() {
            if others.iter().any(|(other, _)| is_same(other, name)) {
                return true;
            }
            rest = others;
        }
        false
    }

    /// Makes headers of them.
    pub(crate) fn to_headers(&self) -> Result<Headers> {
        let pairs = JSON::parse(&self.written()?)?;
        let headers = web_sys::Headers::new_with_str_sequence_sequence(&pairs);
        headers.map(Headers).map_err(Error::from)
    }

    /// The value of a field; of those that may be repeated, the first.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(other, _)| is_same(other, name));
        found.next().map(|(_, value)| value.as_str())
    }

    /// Puts one field in the place of all with this name.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.remove(name);
        self.0.push((name.to_owned(), value.into()));
    }

    /// Removes the fields with this name.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(other, _)| !is_same(other, name));
    }

    /// How many bytes are in them.
    pub(crate) fn size(&self) -> usize {
        let sizes = self.iter().map(|(name, value)| name.len() + value.len());
        sizes.sum()
    }

    /// Removes the fields whose values have control characters: no server and no client is obliged to read a message with
    /// one, and most refuse all of it, each time that it is sent.
    pub(crate) fn drop_unreadable(&mut self) {
        let is_bad = |byte: u8| byte.is_ascii_control() && byte != b'\t';
        self.0.retain(|(_, value)| !value.bytes().any(is_bad));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

impl FromIterator<(String, String)> for Fields {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(fields: T) -> Self {
        Self(fields.into_iter().collect())
    }
}
