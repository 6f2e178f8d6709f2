//! Events that services send to the shop: whether one comes from its sender, which event it is, and in
//! which words it is acknowledged.
//!
//! Invariant: what is verified are the bytes that arrived, under a key that is valid now; an event has
//! its identity from what its sender says, and the same event has the same one however often it is sent.
//! A sender's own repetition is never refused for its age.
//!
//! HMACs are compared here, in constant time. Signatures with public keys, and what is sealed, are the
//! platform's work: this module says what to verify with which keys ([`Proof::Asked`]), and what to
//! open ([`Event::Sealed`]).
//!
//! | module | decides |
//! | --- | --- |
//! | `config` | what a route says of its sender |
//! | [`keys`] | which secrets, public keys and certificates verify, and when |
//! | `alipay`, `github`, `hmac`, `standard`, `stripe`, `wechat` | one sender each: what is signed, and what identifies an event |
//! | `words` | how an event is acknowledged, and how it is not |

mod alipay;
mod certificate;
mod config;
pub(crate) mod date;
mod github;
mod hmac;
pub mod keys;
mod mac;
mod standard;
mod stripe;
mod time;
mod unbelieved;
mod wechat;
mod words;

use alloc::string::String;
use alloc::vec::Vec;

pub use self::config::{Acknowledge, Encoding, Hash, HmacConfig, Sender, WebhookConfig};
pub use self::hmac::SignatureRule;
use self::keys::{Keys, PublicKey};
pub use self::unbelieved::Unbelieved;
pub use self::wechat::Sealed;
pub use self::words::Word;
use crate::fingerprint::{Fingerprint, Parts};
use crate::key::Key;

/// How a route knows its sender: the settings, checked.
#[derive(Clone, Debug)]
pub struct Webhook {
    pub(crate) scheme: Scheme,
    pub(crate) acknowledge: Acknowledge,
    tolerance_ms: u64,
    headers: Vec<String>,
}

/// What is particular to a sender.
#[derive(Clone, Debug)]
pub(crate) enum Scheme {
    Alipay,
    Github,
    Hmac(SignatureRule),
    Standard,
    Stripe,
    Wechat,
}

/// A request that may be an event.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a part left out must be a compile error"
)]
pub struct Delivery<'a> {
    /// Those of [`Webhook::headers`] that it has, by name and value.
    pub headers: &'a [(&'a str, &'a str)],
    /// The value of `Content-Type`.
    pub content_type: &'a str,
    /// The body, as it came.
    pub body: &'a [u8],
    /// The time.
    pub now_ms: u64,
}

/// What is known of the sender of a delivery.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle both")]
pub enum Proof<'k> {
    /// It is the sender's if one of these signatures is.
    Asked(Questions<'k>),
    /// It is the sender's: the key of this name has signed it.
    Given(&'k str),
}

/// Signatures for the platform to verify, all of the same bytes: a body is copied once, however many
/// keys and signatures there are.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one call")]
pub struct Questions<'k> {
    /// What the sender should have signed.
    pub message: Vec<u8>,
    /// Each signature with each key that may have made it. Never empty, and at most [`MOST_TRIED`].
    pub any_of: Vec<Question<'k>>,
}

/// A signature, and a key.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one call")]
pub struct Question<'k> {
    /// The key's name.
    pub name: &'k str,
    /// The key.
    pub key: &'k PublicKey,
    /// The signature.
    pub signature: Vec<u8>,
}

/// How many signatures are verified for one delivery: two, as a sender makes while it replaces its key,
/// with each of the most keys that a route can have.
pub const MOST_TRIED: usize = 2 * keys::MOST_KEYS;

/// Which event a delivery is.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Event {
    /// The event of this name.
    Known(Key),
    /// What identifies it is sealed: to be opened with one of [`Keys::secrets`].
    Sealed(Sealed),
    /// Where the route's `key_from` says.
    Elsewhere,
}

impl Webhook {
    /// How long the sender waits for the acknowledgement of an event, less a margin for the way back,
    /// in milliseconds: after that it sends the event again, whatever it is answered.
    pub fn deadline_ms(&self) -> u64 {
        match self.scheme {
            Scheme::Alipay | Scheme::Wechat => 4_500,
            Scheme::Github | Scheme::Hmac(_) | Scheme::Stripe => 9_000,
            Scheme::Standard => 14_000,
        }
    }

    /// When an event is acknowledged.
    pub fn acknowledge(&self) -> Acknowledge {
        self.acknowledge
    }

    /// The header fields that have to be known of a delivery, in lower case.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// Whether events have their identity where the route's `key_from` says.
    pub fn needs_key_from(&self) -> bool {
        matches!(&self.scheme, Scheme::Hmac(rule) if rule.id_header.is_none())
    }

    /// Whether a delivery is the sender's.
    ///
    /// # Errors
    ///
    /// [`Unbelieved`]: nothing may be done for it.
    pub fn verify<'k>(
        &self,
        keys: &'k Keys,
        delivery: &Delivery<'_>,
    ) -> Result<Proof<'k>, Unbelieved> {
        match &self.scheme {
            Scheme::Alipay => alipay::verify(keys, delivery, self.tolerance_ms),
            Scheme::Github => github::verify(keys, delivery),
            Scheme::Hmac(rule) => rule.verify(keys, delivery, self.tolerance_ms),
            Scheme::Standard => standard::verify(keys, delivery, self.tolerance_ms),
            Scheme::Stripe => stripe::verify(keys, delivery, self.tolerance_ms),
            Scheme::Wechat => wechat::verify(keys, delivery, self.tolerance_ms),
        }
    }

    /// Which event a delivery is. To be asked only of one that [`verify`](Self::verify) has proved.
    ///
    /// # Errors
    ///
    /// [`Unbelieved`]: it has no identity where its sender puts one.
    pub fn event(&self, delivery: &Delivery<'_>) -> Result<Event, Unbelieved> {
        match &self.scheme {
            Scheme::Alipay => alipay::event(delivery),
            Scheme::Github => github::event(delivery),
            Scheme::Hmac(rule) => rule.event(delivery),
            Scheme::Standard => standard::event(delivery),
            Scheme::Stripe => stripe::event(delivery),
            Scheme::Wechat => wechat::event(delivery),
        }
    }

    /// Stands for what is asked for: an event is known by its name alone (rule K3).
    pub fn fingerprint() -> Fingerprint {
        Fingerprint::of(&Parts {
            method: "",
            path_and_query: "webhook",
            content_type: "",
            content_encoding: "",
            body_sha256: [0; 32],
        })
    }
}

impl<'a> Delivery<'a> {
    /// The value of a header field that has to be there.
    fn header(&self, name: &'static str) -> Result<&'a str, Unbelieved> {
        self.named(name)
            .ok_or_else(|| Unbelieved::Header(String::from(name), "is missing"))
    }

    fn named(&self, name: &str) -> Option<&'a str> {
        let mut found = self.headers.iter().filter(|(other, _)| *other == name);
        found.next().map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests;
