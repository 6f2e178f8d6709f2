//! Holds a run against the sentences.

use oncegate_core::lock::HANDOVER_MS;

use super::super::LockOracle;
use super::super::object::asker;
use super::super::program::Program;
use super::{Event, START_MS, TRIES, World};
use crate::drawn::Failed;

impl World {
    /// Holds what was just granted against the sentences.
    pub(super) fn judge(&mut self) -> Result<(), Failed<LockOracle>> {
        for (held, is_handed) in std::mem::take(&mut self.object.granted) {
            self.summary.grants += 1;
            self.summary.handed += u64::from(is_handed);
            let fence = held.fence.as_u64();
            if fence <= self.last_fence {
                return self.fail(
                    LockOracle::FencesGrow,
                    &format!("{fence} after {}", self.last_fence),
                );
            }
            self.last_fence = fence;
            let known = self
                .first
                .iter()
                .find(|(number, _)| asker(**number) == held.asker);
            let Some((number, first_ms)) = known.map(|(number, first)| (*number, *first)) else {
                continue;
            };
            let earlier = self
                .object
                .waiting
                .values()
                .find(|(_, other)| self.since[other] < first_ms);
            if let Some((_, other)) = earlier.filter(|_| is_handed) {
                return self.fail(
                    LockOracle::ServedInOrder,
                    &format!("{number} before {other}"),
                );
            }
            let evictions = self.summary.evictions;
            if self.had.insert(number / TRIES, evictions) == Some(evictions) && !self.jumps {
                return self.fail(LockOracle::OneLockPerRequest, &format!("request {number}"));
            }
            let is_gone = self.programs.iter().all(|program| program.asker != number);
            if is_handed && is_gone {
                let checked = Event::Checked { fence };
                self.queue.push(self.now_ms + HANDOVER_MS + 500, checked);
            }
        }
        Ok(())
    }

    /// Time that an object has not seen pass when its clock is set back is lost to it: then nothing is said.
    pub(super) fn check_gone(&mut self, fence: u64) -> Result<(), Failed<LockOracle>> {
        let clock_ms = self.clock_ms();
        let held_until = self.object.held_until(fence);
        let now_ms = self.object.now_ms(clock_ms);
        match held_until {
            Some(until_ms)
                if until_ms > now_ms && self.summary.evictions == 0 && self.offset_ms == 0 =>
            {
                self.fail(
                    LockOracle::GoneCostAMoment,
                    &format!("fence {fence} until {until_ms}, now {now_ms}"),
                )
            }
            _ => Ok(()),
        }
    }

    pub(super) fn look(&mut self) -> Result<(), Failed<LockOracle>> {
        if self.jumps {
            return Ok(());
        }
        let now_ms = self.now_ms;
        let believes = |program: &&Program| {
            program
                .believes_until()
                .is_some_and(|until_ms| until_ms > now_ms)
        };
        if self.programs.iter().filter(believes).count() > 1 {
            return self.fail(LockOracle::OneHolder, &format!("{:?}", self.programs));
        }
        let clock_ms = self.clock_ms();
        let virtual_ms = self.object.now_ms(clock_ms);
        let is_overdue = self
            .object
            .next_ms()
            .is_some_and(|next_ms| next_ms + 1_000 < virtual_ms);
        if is_overdue || self.object.is_asleep() {
            return self.fail(LockOracle::NoLostWakeUp, "somebody waits for what is due");
        }
        Ok(())
    }

    pub(super) fn fail<T>(&self, oracle: LockOracle, text: &str) -> Result<T, Failed<LockOracle>> {
        Err(Failed {
            oracle,
            seed: self.seed,
            text: format!("{text}, after {} ms", self.now_ms - START_MS),
        })
    }
}
