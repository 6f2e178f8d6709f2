//! When the object wakes up by itself.
//!
//! Invariant: the alarm is never later than what has to be seen to. It is set before anything is done
//! about it, and whatever fails then, the next one is set.

use std::cell::Cell;

use worker::Result;

use super::Inner;
use crate::log;

/// What is known of the object's one alarm.
#[derive(Default)]
pub(super) struct Alarm {
    /// An instance that replaced another one does not know what that one has set.
    known: Cell<bool>,
    at_ms: Cell<Option<u64>>,
}

impl Inner {
    /// Reads what an earlier instance has set, once.
    pub(super) async fn know_alarm(&self) -> Result<()> {
        if !self.alarm.known.get() {
            let at_ms = self.state.storage().get_alarm().await?;
            // It may have rung meanwhile: what it was set to then is no news.
            if !self.alarm.known.get() {
                self.alarm.learn(at_ms.map(i64::cast_unsigned));
            }
        }
        Ok(())
    }

    /// Has the object wake up not later than `at_ms`. Costs a row, if it would have been later.
    pub(super) fn wake_at(&self, now_ms: u64, at_ms: u64) -> Result<()> {
        if self.alarm.at_ms.get().is_some_and(|set| set <= at_ms) {
            return Ok(());
        }
        let set = self.store(now_ms)?.database().set_alarm(at_ms)?;
        self.alarm.learn(Some(at_ms));
        self.state.wait_until(async move {
            if let Err(error) = set.await {
                log::error("alarm_not_set")
                    .detail(format!("{error:?}"))
                    .write();
            }
        });
        Ok(())
    }
}

impl Alarm {
    /// It rings now, and none is set.
    pub(super) fn rings(&self) {
        self.known.set(true);
        self.at_ms.set(None);
    }

    fn learn(&self, at_ms: Option<u64>) {
        self.known.set(true);
        let earlier = self.at_ms.get().into_iter().chain(at_ms).min();
        self.at_ms.set(earlier);
    }
}
