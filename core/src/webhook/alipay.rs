//! Alipay's asynchronous notifications: a form, whose fields but `sign` and `sign_type`, decoded, sorted
//! by name and joined as `name=value` with `&`, are signed with RSA and SHA-256 (`RSA2`).
//!
//! A repetition may be the very same form, up to 25 hours later: so its time is held against two days,
//! which only keeps copies out that are older than any repetition. By Alipay's description the time is
//! never missing: a notification has `notify_time`, a message of its gateway (with `msg_method`)
//! `utc_timestamp`. A form with neither could be sent again for ever, and is refused. The bytes of the
//! fields are verified in whatever charset they are.
//!
//! What is signed does not say where a field ends: `subject=a&notify_id=1` may be two fields, or one
//! whose value has an `&`. Whoever has a notification could so hide its identity or its time in the
//! field in front, or make a field of what a buyer has written: forms that have such readings are
//! refused.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::date::instant_ms;
use super::keys::{Keys, PublicKey, decoded};
use super::time::check_ms;
use super::{Delivery, Event, Proof, Question, Questions, Unbelieved};
use crate::body::form::{self, Field};
use crate::key::Key;
use crate::policy::is_form;

/// See above.
pub(super) const TOLERANCE_S: u64 = 2 * 24 * 60 * 60;

/// Alipay's clock is China's.
const CHINA_MS: u64 = 8 * 60 * 60 * 1_000;

pub(super) fn verify<'k>(
    keys: &'k Keys,
    delivery: &Delivery<'_>,
    tolerance_ms: u64,
) -> Result<Proof<'k>, Unbelieved> {
    let fields = sorted(delivery)?;
    let value = |name: &str| {
        let found = fields.iter().find(|(known, _)| known == name.as_bytes());
        found.and_then(|(_, value)| core::str::from_utf8(value).ok())
    };
    if value("sign_type") != Some("RSA2") {
        return Err(Unbelieved::Signature);
    }
    let signature = value("sign").and_then(decoded);
    let signature = signature.ok_or(Unbelieved::Signature)?;
    let sent_ms = match (value("notify_time"), value("utc_timestamp")) {
        (Some(time), _) => instant_ms(time).and_then(|at_ms| at_ms.checked_sub(CHINA_MS)),
        (None, Some(time)) => milliseconds(time),
        (None, None) => return Err(Unbelieved::Undated),
    };
    check_ms(
        sent_ms.ok_or(Unbelieved::Clock)?,
        delivery.now_ms,
        tolerance_ms,
    )?;
    let public = keys.public(delivery.now_ms);
    let rsa = public.filter(|(_, key)| matches!(key, PublicKey::Rsa(_)));
    let any_of: Vec<Question<'k>> = rsa
        .map(|(credential, key)| Question {
            name: credential.name(),
            key,
            signature: signature.clone(),
        })
        .collect();
    match any_of.is_empty() {
        true => Err(Unbelieved::Key),
        false => Ok(Proof::Asked(Questions {
            message: signed(&fields),
            any_of,
        })),
    }
}

/// The longest number of milliseconds that is read: far beyond any time, and far from an overflow.
const MOST_DIGITS: usize = 15;

fn milliseconds(text: &str) -> Option<u64> {
    let is_number = text.len() <= MOST_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// The fields by which a shop acts on a notification. No text of a buyer's looks like one of them.
const TELLING: [&[u8]; 17] = [
    b"&app_id=",
    b"&biz_content=",
    b"&buyer_id=",
    b"&buyer_pay_amount=",
    b"&msg_method=",
    b"&notify_id=",
    b"&notify_time=",
    b"&notify_type=",
    b"&out_biz_no=",
    b"&out_trade_no=",
    b"&receipt_amount=",
    b"&refund_fee=",
    b"&seller_id=",
    b"&total_amount=",
    b"&trade_no=",
    b"&trade_status=",
    b"&utc_timestamp=",
];

/// The fields, decoded, by name. With a name there twice, two readers might take two values.
fn sorted(delivery: &Delivery<'_>) -> Result<Vec<Field>, Unbelieved> {
    if !is_form(delivery.content_type) {
        return Err(Unbelieved::Form);
    }
    let mut fields = form::fields(delivery.body).map_err(|_| Unbelieved::Form)?;
    fields.sort();
    let is_twice = |pair: &[Field]| pair[0].0 == pair[1].0;
    match fields.windows(2).any(is_twice) || fields.iter().any(hides_another) {
        true => Err(Unbelieved::Form),
        false => Ok(fields),
    }
}

/// Whether the field might be two, as far as the signature goes.
fn hides_another((name, value): &Field) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let has = |text: &[u8]| value.windows(text.len()).any(|part| part == text);
    !name.iter().all(is_plain) || TELLING.into_iter().any(has)
}

fn signed(fields: &[Field]) -> Vec<u8> {
    let mut message = Vec::new();
    for (name, value) in fields {
        if matches!(name.as_slice(), b"sign" | b"sign_type") {
            continue;
        }
        if !message.is_empty() {
            message.push(b'&');
        }
        message.extend_from_slice(name);
        message.push(b'=');
        message.extend_from_slice(value);
    }
    message
}

/// The notification's own id, or what it is about.
pub(super) fn event(delivery: &Delivery<'_>) -> Result<Event, Unbelieved> {
    let text = |name| form::field(delivery.body, name).map(|text| text.as_str().to_string());
    let identity: String = match text("notify_id") {
        Ok(id) => id,
        Err(_) => format!("{}:{}", text("trade_no")?, text("trade_status")?),
    };
    Ok(Event::Known(Key::from_value(&identity)?))
}
