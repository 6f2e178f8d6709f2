//! The secrets, public keys and certificates with which the senders of a route are known, and when each
//! is valid.
//!
//! Invariant: what is outside its dates verifies nothing. Several may be valid at once: that is how one
//! is replaced by the next.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::Deserialize;

use super::certificate::{self, certificate, rsa_key, unarmoured};
use super::date::span_ms;
use super::{Scheme, Webhook};

/// The fewest characters of a secret.
const SHORTEST_SECRET: usize = 16;

/// The length of WeChat Pay's APIv3 key, with which notifications are encrypted: AES-256.
const SEALING_LENGTH: usize = 32;

/// How many keys a route can have. Each is tried while it is valid, and to replace one takes two.
pub const MOST_KEYS: usize = 16;

/// How long before the last key of a route ends somebody is told, in milliseconds.
pub const WARNED_AHEAD_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// A secret, public key or certificate, as written in `WEBHOOK_SECRETS`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct KeyConfig {
    /// Its name, in logs and errors.
    pub name: String,
    /// A secret that both sides know.
    pub secret: Option<String>,
    /// The sender's public key: PEM, or the base64 inside it; `whpk_…` of Standard Webhooks.
    pub public_key: Option<String>,
    /// The sender's certificate: PEM, or the base64 inside it. It brings its serial number and dates.
    pub certificate: Option<String>,
    /// The id of a public key of WeChat Pay, `PUB_KEY_ID_…`.
    pub serial: Option<String>,
    /// From when on it is valid: `2026-12-01`, or `2026-12-01T08:00:00Z`.
    pub not_before: Option<String>,
    /// Until when: of a day, its end.
    pub not_after: Option<String>,
}

/// The keys of one route. Never empty.
#[derive(Clone, Debug)]
pub struct Keys {
    all: Vec<Credential>,
    /// A secret and a public key belong together: with one of them alone nothing is taken.
    needs_both: bool,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Credential {
    name: String,
    material: Material,
    serial: Option<String>,
    not_before_ms: u64,
    not_after_ms: Option<u64>,
}

#[derive(Clone)]
enum Material {
    Public(PublicKey),
    Secret(Vec<u8>),
}

/// A public key, as the platform takes it.
#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle both")]
pub enum PublicKey {
    /// Ed25519: its 32 bytes.
    Ed25519([u8; 32]),
    /// RSA with PKCS #1 v1.5 and SHA-256: a `SubjectPublicKeyInfo`.
    Rsa(Vec<u8>),
}

impl Keys {
    /// Checks the keys of a route.
    ///
    /// # Errors
    ///
    /// A sentence that names the key and the field; it never shows a secret.
    pub fn new(webhook: &Webhook, configs: &[KeyConfig]) -> Result<Self, String> {
        if configs.len() > MOST_KEYS {
            let count = configs.len();
            return Err(format!(
                "has {count} keys, and at most {MOST_KEYS} are tried"
            ));
        }
        let mut keys: Vec<Credential> = Vec::new();
        for config in configs {
            let wrong = |reason: String| format!("key '{}': {reason}", config.name);
            let key = Credential::new(&webhook.scheme, config).map_err(wrong)?;
            if keys.iter().any(|known| known.name == key.name) {
                return Err(wrong("name is an earlier one's".to_owned()));
            }
            keys.push(key);
        }
        let has_secret = keys.iter().any(|key| key.secret().is_some());
        let has_public = keys.iter().any(|key| key.public_key().is_some());
        let missing = match &webhook.scheme {
            Scheme::Alipay if !has_public => Some("a public_key or a certificate of Alipay's"),
            Scheme::Wechat if !has_secret => Some("the APIv3 key, as secret"),
            Scheme::Wechat if !has_public => {
                Some("a public_key with its serial, or a certificate, of WeChat Pay's")
            }
            _ if keys.is_empty() => Some("a key"),
            _ => None,
        };
        match missing {
            Some(missing) => Err(format!("needs {missing}")),
            None => Ok(Self {
                all: keys,
                needs_both: matches!(webhook.scheme, Scheme::Wechat),
            }),
        }
    }

    /// The secrets that are valid now, by name.
    pub fn secrets(&self, now_ms: u64) -> impl Iterator<Item = (&str, &[u8])> {
        let valid = self.all.iter().filter(move |key| key.is_valid(now_ms));
        valid.filter_map(|key| Some((key.name.as_str(), key.secret()?)))
    }

    /// The public keys that are valid now.
    pub(super) fn public(&self, now_ms: u64) -> impl Iterator<Item = (&Credential, &PublicKey)> {
        let valid = self.all.iter().filter(move |key| key.is_valid(now_ms));
        valid.filter_map(|key| Some((key, key.public_key()?)))
    }

    /// When the sender will no longer be known if nothing is changed, in milliseconds since 1970: when the
    /// last key ends, or earlier if the next one begins only some time after the one before; where both
    /// kinds are needed, of the one that ends first. `None` if that never happens.
    pub fn end_ms(&self, now_ms: u64) -> Option<u64> {
        let end_of = |is_one: fn(&Credential) -> bool| {
            let keys = self.all.iter().filter(|key| is_one(key));
            gap_ms(keys, now_ms)
        };
        match self.needs_both {
            true => {
                let secrets = end_of(|key| key.secret().is_some());
                let public = end_of(|key| key.public_key().is_some());
                secrets.into_iter().chain(public).min()
            }
            false => end_of(|_| true),
        }
    }

    /// Whether somebody should be told that they end soon.
    pub fn end_soon(&self, now_ms: u64) -> bool {
        let end_ms = self.end_ms(now_ms);
        end_ms.is_some_and(|end_ms| end_ms < now_ms.saturating_add(WARNED_AHEAD_MS))
    }
}

/// The last millisecond up to which there is always one that is valid, from now on; if there is none now, the last one in
/// which there was. `None` if there is one for ever.
fn gap_ms<'k>(keys: impl Iterator<Item = &'k Credential> + Clone, now_ms: u64) -> Option<u64> {
    let mut until_ms = now_ms.saturating_sub(1);
    if !keys.clone().any(|key| key.is_valid(now_ms)) {
        let ended = keys.filter_map(|key| key.not_after_ms);
        let last = ended.filter(|end_ms| *end_ms < now_ms).max();
        return Some(last.unwrap_or(until_ms));
    }
    loop {
        let begun = keys.clone().filter(|key| key.not_before_ms <= until_ms + 1);
        match begun.map(|key| key.not_after_ms.unwrap_or(u64::MAX)).max() {
            Some(u64::MAX) => return None,
            Some(end_ms) if end_ms > until_ms => until_ms = end_ms,
            _ => return Some(until_ms),
        }
    }
}

impl Credential {
    fn new(scheme: &Scheme, config: &KeyConfig) -> Result<Self, String> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if config.name.is_empty() || !config.name.bytes().all(is_name) {
            return Err("name has letters, digits, '-', '_' and '.'".into());
        }
        let mut key = Self::material(scheme, config)?;
        if let Some(serial) = &config.serial {
            let is_of_use = matches!(scheme, Scheme::Wechat) && key.serial.is_none();
            if !is_of_use || key.secret().is_some() {
                return Err("serial goes with a public_key of WeChat Pay".into());
            }
            key.serial = Some(serial.clone());
        } else if matches!(scheme, Scheme::Wechat)
            && key.public_key().is_some()
            && key.serial.is_none()
        {
            return Err("serial is missing: the id of the public key, PUB_KEY_ID_…".into());
        }
        key.narrow(config)?;
        Ok(key)
    }

    fn material(scheme: &Scheme, config: &KeyConfig) -> Result<Self, String> {
        let of = |material| Self {
            name: config.name.clone(),
            material,
            serial: None,
            not_before_ms: 0,
            not_after_ms: None,
        };
        match (&config.secret, &config.public_key, &config.certificate) {
            (Some(text), None, None) => Ok(of(Material::Secret(secret(scheme, text)?))),
            (None, Some(text), None) => Ok(of(Material::Public(public_key(scheme, text)?))),
            (None, None, Some(text)) => {
                if !matches!(scheme, Scheme::Alipay | Scheme::Wechat) {
                    return Err("certificate is of no use to this sender".into());
                }
                let read = certificate(text).ok_or("certificate cannot be read")?;
                Ok(Self {
                    serial: Some(read.serial.clone()),
                    not_before_ms: read.not_before_ms,
                    not_after_ms: Some(read.not_after_ms),
                    ..of(Material::Public(rsa(read)?))
                })
            }
            _ => Err("needs secret, public_key or certificate, and only one of them".into()),
        }
    }

    /// Narrows the dates to those that are written.
    fn narrow(&mut self, config: &KeyConfig) -> Result<(), String> {
        let date = |field: &str, text: &str| {
            let wrong = || format!("{field} is no date such as 2027-01-31 or 2027-01-31T12:00:00Z");
            span_ms(text).ok_or_else(wrong)
        };
        if let Some(text) = &config.not_before {
            self.not_before_ms = self.not_before_ms.max(date("not_before", text)?.0);
        }
        if let Some(text) = &config.not_after {
            let end = date("not_after", text)?.1;
            self.not_after_ms = Some(self.not_after_ms.map_or(end, |known| known.min(end)));
        }
        match self.not_after_ms {
            Some(end) if end < self.not_before_ms => Err("not_after is before not_before".into()),
            _ => Ok(()),
        }
    }

    fn is_valid(&self, now_ms: u64) -> bool {
        self.not_before_ms <= now_ms && self.not_after_ms.is_none_or(|end| now_ms <= end)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a signature that names this serial number or id is its own.
    pub(super) fn has_serial(&self, serial: &str) -> bool {
        let own = self.serial.as_deref();
        own.is_some_and(|own| own.eq_ignore_ascii_case(serial))
    }

    fn secret(&self) -> Option<&[u8]> {
        match &self.material {
            Material::Secret(secret) => Some(secret),
            Material::Public(_) => None,
        }
    }

    fn public_key(&self) -> Option<&PublicKey> {
        match &self.material {
            Material::Public(key) => Some(key),
            Material::Secret(_) => None,
        }
    }
}

fn secret(scheme: &Scheme, text: &str) -> Result<Vec<u8>, String> {
    match scheme {
        Scheme::Alipay => Err("secret is of no use to Alipay, which signs with RSA2".into()),
        Scheme::Wechat if text.len() == SEALING_LENGTH => Ok(text.as_bytes().to_vec()),
        Scheme::Wechat => Err("secret is no APIv3 key, which has 32 characters".into()),
        Scheme::Standard => {
            let encoded = text.strip_prefix("whsec_").unwrap_or(text);
            let bytes = decoded(encoded).filter(|bytes| bytes.len() >= SHORTEST_SECRET);
            bytes.ok_or_else(|| "secret is not whsec_ and the base64 of 24 to 64 bytes".to_string())
        }
        Scheme::Github | Scheme::Hmac(_) | Scheme::Stripe => match text.len() {
            SHORTEST_SECRET.. => Ok(text.as_bytes().to_vec()),
            length => Err(format!("secret has {length} characters and needs 16")),
        },
    }
}

fn public_key(scheme: &Scheme, text: &str) -> Result<PublicKey, String> {
    match scheme {
        Scheme::Alipay | Scheme::Wechat => unarmoured(text)
            .and_then(rsa_key)
            .map(PublicKey::Rsa)
            .ok_or_else(|| "public_key is no RSA key of 2048 bits or more".to_owned()),
        Scheme::Standard => {
            let encoded = text.strip_prefix("whpk_").unwrap_or(text);
            let bytes = decoded(encoded).and_then(|bytes| bytes.try_into().ok());
            let bytes = bytes.ok_or("public_key is not whpk_ and the base64 of 32 bytes")?;
            Ok(PublicKey::Ed25519(bytes))
        }
        Scheme::Github | Scheme::Hmac(_) | Scheme::Stripe => {
            Err("public_key is of no use to this sender, which signs with a secret".into())
        }
    }
}

fn rsa(read: certificate::Read) -> Result<PublicKey, String> {
    let key = rsa_key(read.public_key).map(PublicKey::Rsa);
    key.ok_or_else(|| "certificate has no RSA key of 2048 bits or more".to_owned())
}

/// Base64, padded or not.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// A secret is never shown.
impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public(_) => "Public(…)",
            Self::Secret(_) => "Secret(…)",
        })
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ed25519(_) => "Ed25519(…)",
            Self::Rsa(_) => "Rsa(…)",
        })
    }
}
