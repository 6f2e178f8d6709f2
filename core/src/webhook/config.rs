//! What a route says of its sender.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::hmac::SignatureRule;
use super::{Scheme, Webhook, alipay, github, standard, stripe, wechat};

/// The longest that a sender's timestamp may be away from now: a day more than any of them repeats.
const LONGEST_TOLERANCE_S: u64 = 7 * 24 * 60 * 60;

/// How a route knows its sender, as written in the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct WebhookConfig {
    /// Who sends.
    pub sender: Sender,
    /// When an event is acknowledged.
    #[serde(default)]
    pub ack: Acknowledge,
    /// How far the time of a signature may be away from now; the sender's own rule.
    pub tolerance_s: Option<u64>,
    /// How a sender signs that is none of the others.
    pub hmac: Option<HmacConfig>,
}

/// A sender whose rules are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the documented list")]
pub enum Sender {
    /// Alipay's asynchronous notifications.
    Alipay,
    /// GitHub.
    Github,
    /// One that signs with an HMAC: see [`HmacConfig`].
    Hmac,
    /// Whoever follows Standard Webhooks.
    Standard,
    /// Stripe.
    Stripe,
    /// WeChat Pay, API version 3.
    Wechat,
}

/// When an event is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Acknowledge {
    /// When the origin has executed it; its verdict decides.
    #[default]
    Delivered,
    /// When it lies in the queue.
    Stored,
}

/// How a sender signs, as written in the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct HmacConfig {
    /// The header field with the signature.
    pub header: String,
    /// What stands in front of it there; nothing.
    #[serde(default)]
    pub prefix: String,
    /// How it is written.
    #[serde(default)]
    pub encoding: Encoding,
    /// The hash under it.
    #[serde(default)]
    pub algorithm: Hash,
    /// What is signed, with `{body}`, `{timestamp}` and `{id}`; `{body}`.
    pub signed: Option<String>,
    /// The header field with the time, in seconds since 1970.
    pub timestamp_header: Option<String>,
    /// The header field with the identity of the event.
    pub id_header: Option<String>,
    /// The word that acknowledges an event; nothing but status 200.
    pub success: Option<String>,
    /// The word that does not; the problem itself.
    pub fail: Option<String>,
}

/// How a signature is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the documented list")]
pub enum Encoding {
    /// Base64, with or without padding.
    Base64,
    /// Hexadecimal.
    #[default]
    Hex,
}

/// The hash of an HMAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the documented list")]
pub enum Hash {
    /// SHA-256.
    #[default]
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Webhook {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// A sentence that names the setting.
    pub fn new(config: &WebhookConfig) -> Result<Self, String> {
        let scheme = scheme(config)?;
        let usual_s = match &scheme {
            Scheme::Alipay => Some(alipay::TOLERANCE_S),
            Scheme::Github => None,
            Scheme::Hmac(rule) => rule.timestamp_header.is_some().then_some(5 * 60),
            Scheme::Standard | Scheme::Stripe | Scheme::Wechat => Some(5 * 60),
        };
        let tolerance_s = match (config.tolerance_s, usual_s) {
            (Some(_), None) => return Err("tolerance_s: what is signed has no time".into()),
            (Some(0), _) => return Err("tolerance_s: must be at least 1".into()),
            (Some(given), _) if given > LONGEST_TOLERANCE_S => {
                return Err(format!(
                    "tolerance_s: must be at most {LONGEST_TOLERANCE_S}"
                ));
            }
            (given, usual) => given.or(usual).unwrap_or_default(),
        };
        Ok(Self {
            headers: headers(&scheme),
            scheme,
            acknowledge: config.ack,
            tolerance_ms: tolerance_s * 1_000,
        })
    }
}

fn scheme(config: &WebhookConfig) -> Result<Scheme, String> {
    Ok(match (config.sender, &config.hmac) {
        (Sender::Hmac, Some(rule)) => Scheme::Hmac(SignatureRule::new(rule)?),
        (Sender::Hmac, None) => return Err("hmac: is missing; say how the sender signs".into()),
        (_, Some(_)) => return Err("hmac: goes with sender = \"hmac\"".into()),
        (Sender::Alipay, None) => Scheme::Alipay,
        (Sender::Github, None) => Scheme::Github,
        (Sender::Standard, None) => Scheme::Standard,
        (Sender::Stripe, None) => Scheme::Stripe,
        (Sender::Wechat, None) => Scheme::Wechat,
    })
}

fn headers(scheme: &Scheme) -> Vec<String> {
    let known: &[&str] = match scheme {
        Scheme::Alipay => &[],
        Scheme::Github => &github::HEADERS,
        Scheme::Hmac(rule) => return rule.headers().map(str::to_owned).collect(),
        Scheme::Standard => &standard::HEADERS,
        Scheme::Stripe => &stripe::HEADERS,
        Scheme::Wechat => &wechat::HEADERS,
    };
    known.iter().map(|name| (*name).to_owned()).collect()
}
