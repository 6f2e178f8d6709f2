//! WeChat Pay, API version 3: `Wechatpay-Signature` over `<timestamp>\n<nonce>\n<body>\n`, RSA with
//! SHA-256, by the key that `Wechatpay-Serial` names: a platform certificate's serial number, or the id
//! of a public key.
//!
//! A repetition is signed anew, with the time of its sending. What it is about is encrypted
//! (AES-256-GCM, with the APIv3 key): the payment's number identifies *paid*, the refund's number what
//! became of a refund, the notification's own id everything else.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::keys::{Keys, decoded};
use super::stripe::pointer;
use super::time::check_seconds;
use super::{Delivery, Event, Proof, Question, Questions, Unbelieved};
use crate::body::KeyText;
use crate::body::pointer::{key_value, scalar_at};
use crate::key::Key;

const NONCE: &str = "wechatpay-nonce";
const SERIAL: &str = "wechatpay-serial";
const SIGNATURE: &str = "wechatpay-signature";
const TIMESTAMP: &str = "wechatpay-timestamp";

pub(super) const HEADERS: [&str; 4] = [NONCE, SERIAL, SIGNATURE, TIMESTAMP];

const ALGORITHM: &str = "AEAD_AES_256_GCM";
const NONCE_LENGTH: usize = 12;

/// What a field is cut off behind where only its value is of interest.
const LONGEST_FIELD: usize = 1_024;

/// What identifies an event, encrypted.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// The nonce.
    pub nonce: Vec<u8>,
    /// What the encryption is bound to.
    pub context: Vec<u8>,
    /// The encrypted bytes, with their tag.
    pub bytes: Vec<u8>,
    event_type: String,
    id: KeyText,
}

pub(super) fn verify<'k>(
    keys: &'k Keys,
    delivery: &Delivery<'_>,
    tolerance_ms: u64,
) -> Result<Proof<'k>, Unbelieved> {
    let (time, nonce) = (delivery.header(TIMESTAMP)?, delivery.header(NONCE)?);
    check_seconds(TIMESTAMP, time, delivery.now_ms, tolerance_ms)?;
    let serial = delivery.header(SERIAL)?;
    let wrong = || Unbelieved::Header(String::from(SIGNATURE), "is no base64");
    let signature = decoded(delivery.header(SIGNATURE)?).ok_or_else(wrong)?;
    let message = [
        time.as_bytes(),
        b"\n",
        nonce.as_bytes(),
        b"\n",
        delivery.body,
        b"\n",
    ];
    let mut public = keys.public(delivery.now_ms);
    let (credential, key) = public
        .find(|(credential, _)| credential.has_serial(serial))
        .ok_or(Unbelieved::Key)?;
    let question = Question {
        name: credential.name(),
        key,
        signature,
    };
    Ok(Proof::Asked(Questions {
        message: message.concat(),
        any_of: [question].into(),
    }))
}

pub(super) fn event(delivery: &Delivery<'_>) -> Result<Event, Unbelieved> {
    let body = delivery.body;
    let text = |at: &str| key_value(body, &pointer(at));
    if text("/resource/algorithm")?.as_str() != ALGORITHM {
        return Err(Unbelieved::Seal);
    }
    let nonce = text("/resource/nonce")?.as_str().as_bytes().to_vec();
    let bytes = decoded(text("/resource/ciphertext")?.as_str()).ok_or(Unbelieved::Seal)?;
    if nonce.len() != NONCE_LENGTH {
        return Err(Unbelieved::Seal);
    }
    // It may be empty, or missing.
    let context = scalar_at(body, &pointer("/resource/associated_data"), LONGEST_FIELD);
    Ok(Event::Sealed(Sealed {
        nonce,
        context: context.unwrap_or_default().into_bytes(),
        bytes,
        event_type: String::from(text("/event_type")?.as_str()),
        id: text("/id")?,
    }))
}

impl Sealed {
    /// The event's identity, once it is opened.
    ///
    /// # Errors
    ///
    /// [`Unbelieved`] if what is inside has no number of what it is about.
    pub fn identity(&self, opened: &[u8]) -> Result<Key, Unbelieved> {
        let numbers: &[&str] = match self.event_type.split('.').next() {
            Some("TRANSACTION") => &["/transaction_id", "/out_trade_no"],
            Some("REFUND") => &["/refund_id", "/out_refund_no"],
            _ => &[],
        };
        let mut found = numbers.iter().map(|at| key_value(opened, &pointer(at)));
        let number = match found.find(Result::is_ok) {
            Some(number) => number?,
            None if numbers.is_empty() => self.id.clone(),
            // Says why, of the first.
            None => key_value(opened, &pointer(numbers[0]))?,
        };
        let identity = format!("{}:{}", self.event_type, number.as_str());
        Ok(Key::from_value(&identity)?)
    }
}
