//! Both hops, as times of arrival.

use crate::env::Env;
use crate::faults::Hop;

/// How long a message takes that nothing happens to.
const FASTEST_MS: u64 = 1;
const SLOWEST_MS: u64 = 20;

/// When a request arrives, counted from now.
pub(crate) struct Arrivals {
    /// `None`: it is lost.
    pub(crate) first_ms: Option<u64>,
    /// A copy that something on the way made.
    pub(crate) copy_ms: Option<u64>,
}

impl Hop {
    pub(crate) fn request(&self, env: &mut Env) -> Arrivals {
        let lost = env.strikes(self.drop);
        let copied = env.strikes(self.duplicate);
        Arrivals {
            first_ms: (!lost).then(|| self.travel_ms(env)),
            copy_ms: copied.then(|| self.travel_ms(env)),
        }
    }

    /// When an answer arrives; `None` if it does not arrive whole.
    pub(crate) fn answer_ms(&self, env: &mut Env) -> Option<u64> {
        let lost = env.strikes(self.lose_answer);
        (!lost).then(|| self.travel_ms(env))
    }

    fn travel_ms(&self, env: &mut Env) -> u64 {
        let usual_ms = env.random.between(FASTEST_MS, SLOWEST_MS);
        match env.strikes(self.delay) {
            // Squared: most delays are short, and a few are as long as they can be.
            true => {
                let part = env.random.between(1, 1_000);
                usual_ms + self.longest_delay_ms * part * part / 1_000_000
            }
            false => usual_ms,
        }
    }
}

/// How long it takes until a broken connection is noticed.
pub(crate) fn notice_ms(env: &mut Env) -> u64 {
    env.random.between(1, 3_000)
}
