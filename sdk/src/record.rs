//! The stored record as fields, as sdk/js reads it from storage and writes it there.
//!
//! Invariant: a record that cannot be understood counts as absent, which leads to a key that was used
//! before and never to a new one.

use oncegate_core::attempt::record::{Phase, Record};

use crate::fields::{Reader, Writer};

const FIELDS: usize = 8;

pub(crate) fn read(stored: &mut Reader<'_>) -> Option<Record> {
    let epoch = stored.number();
    let key = stored.text();
    let phase = stored.text().and_then(Phase::parse);
    let digest = stored.text();
    let mixed = stored.flag();
    let sends = stored.number().map(u32::try_from);
    let first_sent_ms = stored.number();
    let lifetime_ms = stored.number();
    let (key, phase) = (key?, phase?);
    if phase != Phase::None && !is_key(key) {
        return None;
    }
    Some(Record {
        epoch: epoch?,
        key: key.into(),
        phase,
        digest: digest?.into(),
        mixed,
        sends: sends?.ok()?,
        first_sent_ms: first_sent_ms?,
        lifetime_ms,
    })
}

pub(crate) fn write(record: Option<&Record>, told: &mut Writer) {
    let Some(record) = record else {
        return told.absent(FIELDS);
    };
    told.number(record.epoch);
    told.text(&record.key);
    told.text(record.phase.as_str());
    told.text(&record.digest);
    told.flag(record.mixed);
    told.number(record.sends.into());
    told.number(record.first_sent_ms);
    match record.lifetime_ms {
        Some(lifetime_ms) => told.number(lifetime_ms),
        None => told.absent(1),
    }
}

/// Every key of the SDK's is a UUID; another one was not written by it.
fn is_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() == 36 && bytes.all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
