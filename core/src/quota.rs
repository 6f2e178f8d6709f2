//! How many new operations a tenant may begin.
//!
//! Invariant: in any minute at most twice the limit begin, and in the long run the limit; the account
//! of a tenant is one number. (The generic cell rate algorithm: each operation books its share of
//! time, and nobody may have booked more than a minute ahead.)

const MINUTE_US: u64 = 60_000_000;

/// A number of operations per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    share_us: u64,
}

impl Quota {
    /// `None` for a limit of nothing: it would be no quota but a switch.
    pub fn per_minute(limit: u64) -> Option<Self> {
        let share_us = MINUTE_US.checked_div(limit)?.max(1);
        Some(Self { share_us })
    }

    /// Books one more operation on the account of a tenant, until when time is booked. Gives the new
    /// account, or for how many milliseconds the tenant has to wait.
    ///
    /// # Errors
    ///
    /// The wait, if the tenant has begun too many.
    pub fn book(self, now_ms: u64, booked_us: u64) -> Result<u64, u64> {
        let now_us = now_ms.saturating_mul(1_000);
        let next_us = booked_us.max(now_us).saturating_add(self.share_us);
        match next_us.saturating_sub(now_us.saturating_add(MINUTE_US)) {
            0 => Ok(next_us),
            over_us => Err(over_us.div_ceil(1_000)),
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// How many of `asked` operations at `now_ms` are let through.
    fn passed(quota: Quota, now_ms: u64, booked_us: &mut u64, asked: u64) -> u64 {
        let mut passed = 0;
        for _ in 0..asked {
            if let Ok(next_us) = quota.book(now_ms, *booked_us) {
                *booked_us = next_us;
                passed += 1;
            }
        }
        passed
    }

    #[test]
    fn a_minutes_worth_passes_at_once_and_then_the_limit() {
        let quota = Quota::per_minute(100).unwrap();
        let mut booked = 0;
        assert_eq!(passed(quota, 1_000_000, &mut booked, 1_000), 100);
        assert_eq!(quota.book(1_000_000, booked), Err(600));
        assert_eq!(passed(quota, 1_000_599, &mut booked, 10), 0);
        assert_eq!(passed(quota, 1_000_600, &mut booked, 10), 1);
        let hour: u64 = (1..=60)
            .map(|minute| passed(quota, 1_000_600 + minute * 60_000, &mut booked, 1_000))
            .sum();
        assert_eq!(hour, 6_000);
    }

    #[test]
    fn a_clock_that_steps_back_frees_nothing() {
        let quota = Quota::per_minute(10).unwrap();
        let mut booked = 0;
        assert_eq!(passed(quota, 1_000_000, &mut booked, 10), 10);
        assert_eq!(passed(quota, 500_000, &mut booked, 10), 0);
    }

    #[test]
    fn extreme_limits() {
        assert_eq!(Quota::per_minute(0), None);
        let most = Quota::per_minute(u64::MAX).unwrap();
        assert!(most.book(u64::MAX, u64::MAX).is_ok());
        let mut booked = 0;
        let one = Quota::per_minute(1).unwrap();
        assert_eq!(passed(one, 0, &mut booked, 5), 1);
    }
}
