//! Time for leases: it neither goes back nor stands still when the clock is set.

/// Advances by what the clock advances; when the clock goes back, by nothing, and from there on again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clock {
    now_ms: u64,
    seen_ms: u64,
}

impl Clock {
    /// The time of an object that begins: not before what was written down.
    pub fn new(clock_ms: u64, written_ms: u64) -> Self {
        Self {
            now_ms: clock_ms.max(written_ms),
            seen_ms: clock_ms,
        }
    }

    /// The time now.
    pub fn tick(&mut self, clock_ms: u64) -> u64 {
        self.now_ms += clock_ms.saturating_sub(self.seen_ms);
        self.seen_ms = clock_ms;
        self.now_ms
    }
}
