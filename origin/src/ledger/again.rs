//! Trying again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use oncegate_core::backoff::Backoff;
use tokio::time::sleep;

use super::Failure;
use crate::clock::now_ms;
use crate::sql::{Dialect, Meaning, Patience};

/// The pauses before a transaction that was given up is tried again.
const FIRST_PAUSE_MS: u64 = 10;
const LONGEST_PAUSE_MS: u64 = 250;

/// Tries again what the database gave up to let another transaction through, as long as there is
/// patience, and after a pause: those that met must not meet again. The attempt is an expression, evaluated each
/// time; `DB` has to be in scope.
///
/// A macro, since the compiler cannot yet see that a closure which borrows may go to another thread.
macro_rules! again {
    ($patience:expr, $attempt:expr) => {{
        let mut again = crate::ledger::Again::new();
        loop {
            let ended = $attempt.await;
            if !again.after::<DB, _>(&ended, $patience).await {
                break ended;
            }
        }
    }};
}

pub(crate) use again;

/// The pauses between the attempts of [`again!`].
#[derive(Debug)]
pub(crate) struct Again(Backoff);

impl Again {
    pub(crate) fn new() -> Self {
        // It spreads the pauses of those that met; nothing secret is drawn from it.
        let seed = RandomState::new().hash_one(now_ms());
        Self(Backoff::new(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, seed))
    }

    /// Whether to try again, after the pause.
    pub(crate) async fn after<DB: Dialect, T>(
        &mut self,
        ended: &Result<T, Failure>,
        patience: &mut Patience,
    ) -> bool {
        let Err(Failure::NotExecuted(cause)) = ended else {
            return false;
        };
        let victim = cause
            .downcast_ref()
            .is_some_and(|error| DB::meaning(error) == Meaning::Victim);
        let pause = Duration::from_millis(self.0.next().unwrap_or(LONGEST_PAUSE_MS));
        victim && patience.wait(sleep(pause)).await.is_some()
    }
}
