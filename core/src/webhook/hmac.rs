//! Any sender that signs with an HMAC: in which header field, in which spelling, over what.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::config::{Encoding, Hash, HmacConfig};
use super::keys::{Keys, decoded};
use super::mac::is_mac;
use super::time::check_seconds;
use super::{Delivery, Event, Proof, Unbelieved};
use crate::key::Key;
use crate::policy::header_name;

/// How a sender signs: the settings, checked.
#[derive(Clone, Debug)]
pub struct SignatureRule {
    header: String,
    prefix: String,
    encoding: Encoding,
    hash: Hash,
    signed: Vec<Piece>,
    pub(super) timestamp_header: Option<String>,
    pub(super) id_header: Option<String>,
    pub(super) success: Option<String>,
    pub(super) fail: Option<String>,
}

/// A piece of what is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Body,
    Id,
    Text(String),
    Timestamp,
}

impl SignatureRule {
    pub(super) fn new(config: &HmacConfig) -> Result<Self, String> {
        let name = |field: &str, name: &str| {
            header_name(name).map_err(|reason| format!("hmac.{field} {reason}"))
        };
        let optional = |field: &str, given: &Option<String>| {
            given.as_deref().map(|given| name(field, given)).transpose()
        };
        let timestamp_header = optional("timestamp_header", &config.timestamp_header)?;
        let signed = pieces(config.signed.as_deref().unwrap_or("{body}"))?;
        let has = |piece| signed.contains(&piece);
        let faults = [
            (!has(Piece::Body), "signed has no {body}"),
            (
                has(Piece::Timestamp) != timestamp_header.is_some(),
                "signed has {timestamp} if there is a timestamp_header, and only then: a time that is not signed proves nothing",
            ),
            (
                has(Piece::Id) && config.id_header.is_none(),
                "signed has {id}, and there is no id_header",
            ),
            (
                signed.windows(2).any(is_joined),
                "signed has text between {id} and what stands beside it, or one could pass for part of the other",
            ),
            (
                config.success.is_some() != config.fail.is_some(),
                "success and fail go together",
            ),
        ];
        if let Some((_, reason)) = faults.into_iter().find(|(broken, _)| *broken) {
            return Err(format!("hmac: {reason}"));
        }
        Ok(Self {
            header: name("header", &config.header)?,
            prefix: config.prefix.clone(),
            encoding: config.encoding,
            hash: config.algorithm,
            signed,
            timestamp_header,
            id_header: optional("id_header", &config.id_header)?,
            success: config.success.clone(),
            fail: config.fail.clone(),
        })
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = &str> {
        let others = [&self.timestamp_header, &self.id_header];
        let others = others.into_iter().filter_map(Option::as_deref);
        core::iter::once(self.header.as_str()).chain(others)
    }

    pub(super) fn verify<'k>(
        &self,
        keys: &'k Keys,
        delivery: &Delivery<'_>,
        tolerance_ms: u64,
    ) -> Result<Proof<'k>, Unbelieved> {
        let code = self.code(named(delivery, &self.header)?)?;
        let time = match &self.timestamp_header {
            Some(name) => named(delivery, name)?,
            None => "",
        };
        if let Some(name) = &self.timestamp_header {
            check_seconds(name, time, delivery.now_ms, tolerance_ms)?;
        }
        let id = match &self.id_header {
            Some(name) => named(delivery, name)?,
            None => "",
        };
        if let Some(name) = &self.id_header
            && !self.is_apart(id)
        {
            let reason = "has in it what separates it from the rest of what is signed";
            return Err(Unbelieved::Header(name.clone(), reason));
        }
        let parts: Vec<&[u8]> = self
            .signed
            .iter()
            .map(|piece| match piece {
                Piece::Body => delivery.body,
                Piece::Id => id.as_bytes(),
                Piece::Text(text) => text.as_bytes(),
                Piece::Timestamp => time.as_bytes(),
            })
            .collect();
        let mut secrets = keys.secrets(delivery.now_ms);
        let found = secrets.find(|(_, secret)| is_mac(self.hash, secret, &parts, &[&code]));
        found
            .map(|(name, _)| Proof::Given(name))
            .ok_or(Unbelieved::Signature)
    }

    /// Whether the id can be told from what is signed around it. Else the same bytes, under the same
    /// signature, would be another id with another body: a second event.
    fn is_apart(&self, id: &str) -> bool {
        let is_text = |piece: &Piece| matches!(piece, Piece::Text(_));
        let mut places = (0..self.signed.len()).filter(|&place| self.signed[place] == Piece::Id);
        places.all(|place| {
            let (before, behind) = (&self.signed[..place], &self.signed[place + 1..]);
            let is_first = before.iter().all(is_text);
            let is_last = behind.iter().all(is_text);
            let begins = match before.last() {
                Some(Piece::Text(text)) if !is_first => {
                    format!("{text}{id}").rfind(text) == Some(0)
                }
                _ => true,
            };
            let ends = match behind.first() {
                Some(Piece::Text(text)) if !is_last => {
                    format!("{id}{text}").find(text) == Some(id.len())
                }
                _ => true,
            };
            begins && ends
        })
    }

    /// The signature in the header field.
    fn code(&self, value: &str) -> Result<Vec<u8>, Unbelieved> {
        let written = value.strip_prefix(&self.prefix);
        let code = written.and_then(|written| match self.encoding {
            Encoding::Base64 => decoded(written),
            Encoding::Hex => hexadecimal(written),
        });
        let wrong = || Unbelieved::Header(self.header.clone(), "has no signature");
        code.ok_or_else(wrong)
    }

    pub(super) fn event(&self, delivery: &Delivery<'_>) -> Result<Event, Unbelieved> {
        let Some(name) = &self.id_header else {
            return Ok(Event::Elsewhere);
        };
        Ok(Event::Known(Key::from_value(named(delivery, name)?)?))
    }
}

/// Whether the id has something that varies beside it.
fn is_joined(pair: &[Piece]) -> bool {
    pair.contains(&Piece::Id) && !pair.iter().any(|piece| matches!(piece, Piece::Text(_)))
}

fn named<'a>(delivery: &Delivery<'a>, name: &str) -> Result<&'a str, Unbelieved> {
    let missing = || Unbelieved::Header(name.to_owned(), "is missing");
    delivery.named(name).ok_or_else(missing)
}

/// Reads a template: `v0:{timestamp}:{body}`.
fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((text, behind)) = rest.split_once('{') {
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        let (name, behind) = behind.split_once('}').unwrap_or((behind, ""));
        pieces.push(match name {
            "body" => Piece::Body,
            "id" => Piece::Id,
            "timestamp" => Piece::Timestamp,
            _ => return Err("hmac: signed knows {body}, {timestamp} and {id}".into()),
        });
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

/// Hexadecimal in either case.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| match pair {
        [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
        _ => None,
    });
    bytes.collect()
}
