//! When to tell somebody about operations in trouble.
//!
//! Invariant: an operation that is in trouble for long enough is told of until somebody hears, and
//! then once an hour as long as it stays in trouble.

use serde::{Deserialize, Serialize};

/// How often the same trouble is told of.
const AGAIN_MS: u64 = 60 * 60 * 1_000;

/// Trouble seldom comes alone: what comes within a minute is told together.
const TOGETHER_MS: u64 = 60 * 1_000;

/// The first pause after an alert that was not heard. Each further one is twice as long.
const FIRST_PAUSE_MS: u64 = 5_000;

/// What became of the alerts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Alerts {
    /// When the operations were listed of which somebody has last heard.
    heard_ms: Option<u64>,
    /// How often the present alert was tried, and when last.
    tries: u32,
    tried_ms: u64,
}

/// What there is to tell of. Trouble is ripe when it has lasted long enough for an alert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one decision")]
pub struct Ripe {
    /// When the first trouble of all was ripe, or will be.
    pub first_ms: Option<u64>,
    /// When the first was, or will be, of which nobody has heard.
    pub first_unheard_ms: Option<u64>,
}

impl Alerts {
    /// When the operations were listed of which somebody has heard: what was ripe by then is no news.
    pub fn heard_ms(&self) -> Option<u64> {
        self.heard_ms
    }

    /// When to send the next alert; `None` if there is nothing to tell of.
    pub fn due_ms(&self, ripe: Ripe) -> Option<u64> {
        let first_ms = ripe.first_ms?;
        let due_ms = match self.heard_ms {
            None => first_ms,
            Some(heard_ms) => {
                let again_ms = first_ms.max(heard_ms.saturating_add(AGAIN_MS));
                let news_ms = ripe
                    .first_unheard_ms
                    .map(|ripe_ms| ripe_ms.max(heard_ms.saturating_add(TOGETHER_MS)));
                news_ms.map_or(again_ms, |news_ms| news_ms.min(again_ms))
            }
        };
        match self.tries {
            0 => Some(due_ms),
            tries => Some(due_ms.max(self.tried_ms.saturating_add(pause_ms(tries)))),
        }
    }

    /// An alert is about to be sent.
    pub fn try_now(&mut self, now_ms: u64) {
        self.tries = self.tries.saturating_add(1);
        self.tried_ms = now_ms;
    }

    /// The alert about what was listed at `listed_ms` was heard.
    pub fn heard(&mut self, listed_ms: u64) {
        *self = Self {
            heard_ms: Some(listed_ms),
            ..Self::default()
        };
    }
}

fn pause_ms(tries: u32) -> u64 {
    let doubled = FIRST_PAUSE_MS.checked_shl(tries - 1).unwrap_or(AGAIN_MS);
    doubled.min(AGAIN_MS)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const NOW: u64 = 1_900_000_000_000;
    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;

    fn ripe(first_ms: u64, first_unheard_ms: Option<u64>) -> Ripe {
        Ripe {
            first_ms: Some(first_ms),
            first_unheard_ms,
        }
    }

    #[test]
    fn nothing_is_due_without_trouble() {
        let mut alerts = Alerts::default();
        assert_eq!(alerts.due_ms(Ripe::default()), None);
        alerts.try_now(NOW);
        alerts.heard(NOW);
        assert_eq!(alerts.due_ms(Ripe::default()), None);
    }

    #[test]
    fn the_first_alert_is_due_when_the_first_trouble_is_ripe() {
        assert_eq!(Alerts::default().due_ms(ripe(NOW, Some(NOW))), Some(NOW));
    }

    #[test]
    fn an_alert_that_nobody_hears_is_repeated_at_pauses_that_double_up_to_an_hour() {
        let mut alerts = Alerts::default();
        let mut now_ms = NOW;
        let mut pauses = [0; 12];
        for pause in &mut pauses {
            alerts.try_now(now_ms);
            let due_ms = alerts.due_ms(ripe(NOW, Some(NOW))).unwrap();
            *pause = (due_ms - now_ms) / 1_000;
            now_ms = due_ms;
        }
        assert_eq!(
            pauses,
            [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]
        );
        for _ in 0..100 {
            alerts.try_now(now_ms);
        }
        assert_eq!(alerts.due_ms(ripe(NOW, Some(NOW))), Some(now_ms + HOUR));
        alerts.heard(now_ms);
        assert_eq!(alerts.due_ms(ripe(NOW, None)), Some(now_ms + HOUR));
    }

    #[test]
    fn what_was_heard_is_told_again_after_an_hour_and_news_after_a_minute() {
        let mut alerts = Alerts::default();
        alerts.try_now(NOW);
        alerts.heard(NOW);
        let due = |first_unheard_ms| alerts.due_ms(ripe(NOW - HOUR, first_unheard_ms));
        assert_eq!(due(None), Some(NOW + HOUR));
        assert_eq!(due(Some(NOW + 1)), Some(NOW + MINUTE));
        assert_eq!(due(Some(NOW + 30 * MINUTE)), Some(NOW + 30 * MINUTE));
        assert_eq!(due(Some(NOW + 2 * HOUR)), Some(NOW + HOUR));
    }

    #[test]
    fn trouble_after_a_quiet_time_is_told_when_it_is_ripe() {
        let mut alerts = Alerts::default();
        alerts.heard(NOW);
        let later = NOW + 10 * HOUR;
        assert_eq!(alerts.due_ms(ripe(later, Some(later))), Some(later));
    }
}
