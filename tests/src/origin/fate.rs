//! What will happen to one attempt at the origin.

use crate::env::Env;
use crate::model::{Card, DECLINED};

/// Drawn, or told by a story, when the attempt arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "stories construct it")]
pub struct Fate {
    /// How long it lies around before it is begun.
    pub late_ms: u64,
    /// How long its transaction is open.
    pub work_ms: u64,
    /// What it comes to, if the ledger lets it run.
    pub business: Business,
    /// What becomes of its answer.
    pub ending: Ending,
    /// How long its answer lies around.
    pub answers_after_ms: u64,
}

/// What the work comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "stories construct it")]
pub enum Business {
    /// The customer is charged.
    Executes,
    /// Rolled back; the answer is a bare 500.
    Fails,
    /// Rolled back, and the origin says so.
    FailsHonestly,
    /// The shop says no.
    Refuses,
}

/// What becomes of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "stories construct it")]
pub enum Ending {
    /// It is given.
    Answers,
    /// Something before the origin answers with a bare status instead.
    Bare(u16),
    /// The connection is closed without it.
    Drops,
}

impl Fate {
    /// Everything goes well.
    pub fn executed() -> Self {
        Self {
            late_ms: 0,
            work_ms: 20,
            business: Business::Executes,
            ending: Ending::Answers,
            answers_after_ms: 0,
        }
    }

    /// The same, with another business.
    #[must_use]
    pub fn but(self, business: Business) -> Self {
        Self { business, ..self }
    }

    /// The same, with another ending.
    #[must_use]
    pub fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    /// The same, begun late.
    #[must_use]
    pub fn late_by(self, late_ms: u64) -> Self {
        Self { late_ms, ..self }
    }

    pub(crate) fn draw(env: &mut Env, card: Card) -> Self {
        let rates = env.faults.rates.clone();
        let business = if card == DECLINED || env.strikes(rates.refuse) {
            Business::Refuses
        } else if env.strikes(rates.fail_honestly) {
            Business::FailsHonestly
        } else if env.strikes(rates.fail) {
            Business::Fails
        } else {
            Business::Executes
        };
        let work_ms = match env.strikes(rates.slow) {
            true => env.random.between(1_000, 60_000),
            false => env.random.between(2, 200),
        };
        let ending = match env.strikes(rates.drop_after_commit) {
            true => Ending::Drops,
            false => Ending::Answers,
        };
        Self {
            late_ms: 0,
            work_ms,
            business,
            ending,
            answers_after_ms: 0,
        }
    }
}
