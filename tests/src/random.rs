//! The one source of randomness.

/// `SplitMix64` by Steele, Lea and Flood: every 64-bit seed is a good one, so that seeds can be
/// counted through from 0.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        let product = u128::from(self.bits()) * (u128::from(most - least) + 1);
        least + u64::try_from(product >> 64).unwrap_or_default()
    }

    /// True in `per_mille` of 1,000 cases.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.between(0, 999) < u64::from(per_mille)
    }

    /// One of `choices`, which are not empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = choices.len() as u64 - 1;
        choices[usize::try_from(self.between(0, last)).unwrap_or_default()]
    }
}
