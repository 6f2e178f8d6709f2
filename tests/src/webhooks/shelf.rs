//! The queue: at least once, in any order, and what failed too often is a dead letter.

use std::collections::BTreeMap;

use super::gate::Job;

/// Fewer than the documentation advises: dead letters are to be seen.
const MAX_RETRIES: u32 = 4;

const SHORTEST_WAIT_MS: u64 = 5_000;
const LONGEST_WAIT_MS: u64 = 60 * 60 * 1_000;

pub(super) struct Message {
    pub(super) job: Job,
    put_ms: u64,
    retries: u32,
    /// How often it was handed out.
    pub(super) handed: u32,
}

#[derive(Default)]
pub(super) struct Shelf {
    last_id: u64,
    pub(super) messages: BTreeMap<u64, Message>,
    pub(super) dead: Vec<Job>,
}

impl Shelf {
    pub(super) fn put(&mut self, job: Job, now_ms: u64) -> u64 {
        self.last_id += 1;
        let message = Message {
            job,
            put_ms: now_ms,
            retries: 0,
            handed: 0,
        };
        self.messages.insert(self.last_id, message);
        self.last_id
    }

    /// It is to be delivered again: when; `None` if it is dead now.
    pub(super) fn retry(&mut self, id: u64, now_ms: u64) -> Option<u64> {
        let message = self.messages.get_mut(&id)?;
        message.retries += 1;
        if message.retries > MAX_RETRIES {
            let dead = self.messages.remove(&id)?;
            self.dead.push(dead.job);
            return None;
        }
        let age_ms = now_ms.saturating_sub(message.put_ms);
        Some(now_ms + age_ms.clamp(SHORTEST_WAIT_MS, LONGEST_WAIT_MS))
    }

    /// Whether the event lies here, alive or dead.
    pub(super) fn has(&self, event: &str) -> bool {
        let mut alive = self.messages.values().map(|message| &message.job);
        let mut dead = self.dead.iter();
        alive.any(|job| job.event() == event) || dead.any(|job| job.event() == event)
    }
}
