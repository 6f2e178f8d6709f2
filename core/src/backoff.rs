//! How long to wait before the next send: exponential, capped, with full jitter.
//!
//! Invariant: the n-th wait (from 0) lies in `0..=min(cap, base × 2^n)`, and one seed gives one
//! sequence. Full jitter, because clients that failed together must not come back together.

/// An endless sequence of waits, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Backoff {
    ceiling_ms: u64,
    cap_ms: u64,
    random: SplitMix64,
}

impl Backoff {
    /// Waits that start below `base_ms` and never exceed `cap_ms`.
    pub fn new(base_ms: u64, cap_ms: u64, seed: u64) -> Self {
        Self {
            ceiling_ms: base_ms.min(cap_ms),
            cap_ms,
            random: SplitMix64(seed),
        }
    }
}

impl Iterator for Backoff {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let wait = self.random.up_to(self.ceiling_ms);
        self.ceiling_ms = self.ceiling_ms.saturating_mul(2).min(self.cap_ms);
        Some(wait)
    }
}

/// Evenly from `0..=limit`, by a seed.
pub(crate) fn spread(seed: u64, limit: u64) -> u64 {
    SplitMix64(seed).up_to(limit)
}

/// Steele, Lea and Flood's generator: 64 bits of state are plenty to spread waits, and nothing
/// secret is drawn from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly from `0..=limit`: the high half of a product, so that no remainder favours low values.
    fn up_to(&mut self, limit: u64) -> u64 {
        let product = u128::from(self.next()) * (u128::from(limit) + 1);
        u64::try_from(product >> 64).unwrap_or(limit)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The first outputs for seed 1234567, computed with an independent implementation.
        let mut random = SplitMix64(1_234_567);
        let drawn = [random.next(), random.next(), random.next()];
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn every_wait_stays_below_its_doubling_ceiling() {
        for seed in 0..500 {
            let mut ceiling = 300;
            for wait in Backoff::new(300, 10_000, seed).take(20) {
                assert!(wait <= ceiling, "seed {seed}: {wait} > {ceiling}");
                ceiling = (ceiling * 2).min(10_000);
            }
        }
    }

    #[test]
    fn jitter_is_full() {
        let waits: Vec<u64> = (0..2_000)
            .filter_map(|seed| Backoff::new(1_000, 1_000, seed).next())
            .collect();
        assert!(waits.iter().any(|wait| *wait < 20));
        assert!(waits.iter().any(|wait| *wait > 980));
        let mean = waits.iter().sum::<u64>() / 2_000;
        assert!((450..550).contains(&mean), "mean {mean}");
    }

    #[test]
    fn one_seed_gives_one_sequence() {
        let waits = |seed| -> Vec<u64> { Backoff::new(300, 10_000, seed).take(12).collect() };
        assert_eq!(waits(7), waits(7));
        assert_ne!(waits(7), waits(8));
    }

    #[test]
    fn extreme_settings_do_not_overflow() {
        let mut longest = Backoff::new(u64::MAX, u64::MAX, 1);
        assert!(longest.by_ref().take(200).any(|wait| wait > u64::MAX / 2));
        assert!(Backoff::new(0, 0, 1).take(200).all(|wait| wait == 0));
        assert!(Backoff::new(500, 10, 1).take(200).all(|wait| wait <= 10));
    }
}
