//! The stored record as a plain object, as sdk/js reads it from storage and writes it there.
//!
//! Invariant: a record that cannot be understood counts as absent, which leads to a key that was used
//! before and never to a new one.

use oncegate_core::attempt::record::{Phase, Record};
use wasm_bindgen::JsValue;

use crate::object::{Fields, get_flag, get_number, get_text};

pub(crate) fn read(stored: &JsValue) -> Option<Record> {
    let key = get_text(stored, "key")?;
    let phase = Phase::parse(&get_text(stored, "phase")?)?;
    if phase != Phase::None && !is_key(&key) {
        return None;
    }
    Some(Record {
        epoch: get_number(stored, "epoch")?,
        key,
        phase,
        digest: get_text(stored, "digest")?,
        mixed: get_flag(stored, "mixed"),
        sends: u32::try_from(get_number(stored, "sends")?).ok()?,
        first_sent_ms: get_number(stored, "firstSent")?,
        lifetime_ms: get_number(stored, "lifetime"),
    })
}

pub(crate) fn to_object(record: &Record) -> Fields {
    let stored = Fields::new();
    stored.set_number("epoch", record.epoch as f64);
    stored.set_text("key", &record.key);
    stored.set_text("phase", record.phase.as_str());
    stored.set_text("digest", &record.digest);
    stored.set_flag("mixed", record.mixed);
    stored.set_number("sends", record.sends.into());
    stored.set_number("firstSent", record.first_sent_ms as f64);
    if let Some(lifetime_ms) = record.lifetime_ms {
        stored.set_number("lifetime", lifetime_ms as f64);
    }
    stored
}

/// Every key of the SDK's is a UUID; another one was not written by it.
fn is_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() == 36 && bytes.all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
