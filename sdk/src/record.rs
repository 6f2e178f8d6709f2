//! What is stored: the install secret, and one record per intent.
//!
//! Invariant: an intent's epoch never falls, and an executed epoch stays executed until the
//! application ends it. Other tabs write the same records without a lock, so nothing that was read
//! is kept over an `await`: every change reads first. A record that cannot be understood counts as
//! absent, which leads to a key that was used before and never to a new one.

use js_sys::JSON;
use oncegate_core::intent::InstallSecret;
use wasm_bindgen::JsValue;

use crate::host::{Storage, random};
use crate::object::{Fields, get_number, get_text};

const SECRET: &str = "oncegate:secret";
const INTENT: &str = "oncegate:intent:";

/// Where an intent stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The epoch's operation is executed, and the application has not ended it.
    Executed,
    /// Nothing has been sent in this epoch.
    None,
    /// Something may have been sent, and nobody has said what became of it.
    Open,
}

impl Phase {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::None => "none",
            Self::Open => "open",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Executed, Self::None, Self::Open]
            .into_iter()
            .find(|phase| phase.as_str() == word)
    }
}

/// What is known of an intent.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) epoch: u64,
    /// The key of this epoch. Stored although it can be derived: if the secret is lost, an open
    /// operation must not change its name.
    pub(crate) key: String,
    pub(crate) phase: Phase,
    /// Tells payloads apart. Empty if it is not known which payload was executed.
    pub(crate) digest: String,
    pub(crate) sends: u32,
    pub(crate) first_sent_ms: u64,
    /// How long the gate remembers the key, once it has said so.
    pub(crate) lifetime_ms: Option<u64>,
}

impl Record {
    /// A record of which nothing has been sent.
    pub(crate) fn fresh(epoch: u64, key: String) -> Self {
        Self {
            epoch,
            key,
            phase: Phase::None,
            digest: String::new(),
            sends: 0,
            first_sent_ms: 0,
            lifetime_ms: None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let stored = JSON::parse(text).ok()?;
        let key = get_text(&stored, "key")?;
        let phase = Phase::parse(&get_text(&stored, "phase")?)?;
        if phase != Phase::None && !is_key(&key) {
            return None;
        }
        Some(Self {
            epoch: get_number(&stored, "epoch")?,
            key,
            phase,
            digest: get_text(&stored, "digest")?,
            sends: u32::try_from(get_number(&stored, "sends")?).ok()?,
            first_sent_ms: get_number(&stored, "firstSent")?,
            lifetime_ms: get_number(&stored, "lifetime"),
        })
    }

    fn to_text(&self) -> Option<String> {
        let stored = Fields::new();
        stored.set_number("epoch", self.epoch as f64);
        stored.set_text("key", &self.key);
        stored.set_text("phase", self.phase.as_str());
        stored.set_text("digest", &self.digest);
        stored.set_number("sends", self.sends.into());
        stored.set_number("firstSent", self.first_sent_ms as f64);
        if let Some(lifetime_ms) = self.lifetime_ms {
            stored.set_number("lifetime", lifetime_ms as f64);
        }
        JSON::stringify(&stored).ok()?.as_string()
    }
}

/// The entries of one storage.
pub(crate) struct Store(Storage);

impl Store {
    pub(crate) fn new(storage: Storage) -> Self {
        Self(storage)
    }

    /// The install secret, made if there is none. What is there after writing counts, not what was
    /// written: another tab may have been first.
    pub(crate) fn secret(&self) -> Result<InstallSecret, JsValue> {
        if let Some(secret) = self.stored_secret() {
            return Ok(secret);
        }
        let drawn = InstallSecret::from_random(random()?);
        self.0.set(SECRET, &drawn.to_hex());
        Ok(self.stored_secret().unwrap_or(drawn))
    }

    pub(crate) fn has_secret(&self) -> bool {
        self.stored_secret().is_some()
    }

    fn stored_secret(&self) -> Option<InstallSecret> {
        InstallSecret::parse(&self.0.get(SECRET)?)
    }

    pub(crate) fn read(&self, intent: &str) -> Option<Record> {
        Record::parse(&self.0.get(&name_of(intent))?)
    }

    /// The record of an intent, or the one it begins with.
    pub(crate) fn current(&self, intent: &str) -> Result<Record, JsValue> {
        match self.read(intent) {
            Some(record) if record.phase != Phase::None => Ok(record),
            ended => self.unsent(intent, ended.map_or(0, |record| record.epoch)),
        }
    }

    /// The record with which an epoch begins.
    pub(crate) fn unsent(&self, intent: &str, epoch: u64) -> Result<Record, JsValue> {
        let key = self.secret()?.key(intent, epoch);
        Ok(Record::fresh(epoch, key.as_str().to_owned()))
    }

    /// `false` if the record will not survive the page.
    pub(crate) fn write(&self, intent: &str, record: &Record) -> bool {
        let text = record.to_text().unwrap_or_default();
        self.0.set(&name_of(intent), &text)
    }

    /// Raises the epoch behind `epoch`, unless another tab has done so.
    pub(crate) fn close(&self, intent: &str, epoch: u64) {
        let raised = self.read(intent).is_some_and(|now| now.epoch > epoch);
        if !raised {
            self.write(intent, &Record::fresh(epoch + 1, String::new()));
        }
    }

    /// Every intent that is open, with its record.
    pub(crate) fn open_records(self) -> impl Iterator<Item = (String, Record)> {
        self.0.names().into_iter().filter_map(move |name| {
            let intent = name.as_string()?.strip_prefix(INTENT)?.to_owned();
            let record = self.read(&intent)?;
            (record.phase == Phase::Open).then_some((intent, record))
        })
    }
}

/// Every key of the SDK's is a UUID; another one was not written by it.
fn is_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() == 36 && bytes.all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn name_of(intent: &str) -> String {
    [INTENT, intent].concat()
}
