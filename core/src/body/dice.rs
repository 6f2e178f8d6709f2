//! Seeded choices for tests that try many bodies.

use alloc::vec::Vec;

/// A small generator (xorshift): the same seed, the same choices.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 33) % end as u64).unwrap()
    }

    pub(super) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    pub(super) fn shuffle<T: Clone>(&mut self, items: &[T]) -> Vec<T> {
        let mut items = items.to_vec();
        for end in (2..=items.len()).rev() {
            items.swap(end - 1, self.below(end));
        }
        items
    }
}
