//! The operation that one call of `submit` is about, and its record.
//!
//! Invariant: [`Operation::before_send`] has stored the key when it returns, and the key does not
//! change afterwards except by [`Operation::take_next_key`].

use oncegate_core::intent::{ASSUMED_LIFETIME_MS, drawn_key, is_fresh};
use wasm_bindgen::JsValue;

use crate::host::{Job, random, wall_ms};
use crate::record::{Phase, Record, Store};

pub(crate) struct Operation {
    store: Store,
    intent: Option<String>,
    digest: String,
    record: Record,
}

impl Operation {
    /// Looks up where the intent stands. Stores nothing yet.
    pub(crate) fn open(job: &Job) -> Result<Self, JsValue> {
        let store = Store::new(job.storage());
        let intent = job.intent();
        let record = match &intent {
            Some(intent) => store.current(intent)?,
            None => drawn()?,
        };
        let content_type = job.headers().get("content-type")?.unwrap_or_default();
        let digest = store.secret()?.payload_digest(&[
            job.method().as_bytes(),
            job.url().as_bytes(),
            content_type.as_bytes(),
            &job.bytes(),
        ]);
        Ok(Self {
            store,
            intent,
            digest,
            record,
        })
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Whether the executed payload is known to be another one than this.
    pub(crate) fn is_changed(&self) -> bool {
        !self.record.digest.is_empty() && self.record.digest != self.digest
    }

    /// Whether the key may still be sent (rule T3).
    pub(crate) fn is_fresh(&self) -> bool {
        let lifetime_ms = self.record.lifetime_ms.unwrap_or(ASSUMED_LIFETIME_MS);
        self.record.sends == 0 || is_fresh(self.record.first_sent_ms, lifetime_ms, wall_ms())
    }

    /// Counts and stores a send that is about to be made. `false` if the record will not survive the
    /// page.
    pub(crate) fn before_send(&mut self) -> bool {
        self.adopt_other_tab();
        if self.record.sends == 0 {
            self.record.first_sent_ms = wall_ms();
        }
        self.record.sends = self.record.sends.saturating_add(1);
        if self.record.phase != Phase::Executed {
            self.record.phase = Phase::Open;
            self.record.digest.clone_from(&self.digest);
        }
        self.store()
    }

    /// Another tab may have sent the same key meanwhile. Where the two disagree on the key (both
    /// made the install secret in the same instant), the one that has been sent counts.
    fn adopt_other_tab(&mut self) {
        let Some(theirs) = self.stored() else {
            return;
        };
        let same_epoch = theirs.epoch == self.record.epoch && theirs.phase != Phase::None;
        if same_epoch && (theirs.key == self.record.key || self.record.sends == 0) {
            self.record = theirs;
        }
    }

    /// Goes to the next epoch, or to the one that another tab has reached.
    pub(crate) fn take_next_key(&mut self) -> Result<(), JsValue> {
        let Some(intent) = &self.intent else {
            self.record = drawn()?;
            return Ok(());
        };
        self.store.close(intent, self.record.epoch);
        self.record = self.store.current(intent)?;
        Ok(())
    }

    /// Remembers how long the gate remembers.
    pub(crate) fn set_lifetime(&mut self, lifetime_ms: Option<u64>) {
        if lifetime_ms.is_some() && lifetime_ms != self.record.lifetime_ms {
            self.record.lifetime_ms = lifetime_ms;
            self.store();
        }
    }

    /// The operation is executed, with this payload or with an unknown one.
    pub(crate) fn set_executed(&mut self, changed: bool) {
        self.record.phase = Phase::Executed;
        self.record.digest.clear();
        if !changed {
            self.record.digest.clone_from(&self.digest);
        }
        self.store();
    }

    /// The operation can never be executed: the next one has another key.
    pub(crate) fn close(&self) {
        if let Some(intent) = &self.intent {
            self.store.close(intent, self.record.epoch);
        }
    }

    fn stored(&self) -> Option<Record> {
        self.store.read(self.intent.as_ref()?)
    }

    /// Writes the record, unless another tab is further.
    fn store(&self) -> bool {
        let Some(intent) = &self.intent else {
            return true;
        };
        let theirs_is_further = self.stored().is_some_and(|theirs| {
            let executed = theirs.phase == Phase::Executed && self.record.phase != Phase::Executed;
            theirs.epoch > self.record.epoch || theirs.epoch == self.record.epoch && executed
        });
        theirs_is_further || self.store.write(intent, &self.record)
    }
}

/// The record of an operation without an intent: it lives in this call only.
fn drawn() -> Result<Record, JsValue> {
    let key = drawn_key(wall_ms(), &random()?);
    Ok(Record::fresh(0, key.as_str().to_owned()))
}
