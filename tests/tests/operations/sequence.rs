//! A record, and whatever may happen to it next.
//!
//! The model beside the record is the plainest possible: the set of attempts, and what was truthfully
//! proven of each.

use std::collections::BTreeMap;

use oncegate_contract::usual::{self, fingerprint};
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{Admission, Cancellation, Hearing, Operation, Settling, Terms};
use oncegate_core::outcome::Outcome;
use oncegate_core::proof::{Origin, Reply};
use oncegate_tests::Random;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

const ORIGINS: [Origin; 3] = [Origin::Ledger, Origin::None, Origin::Read];
const KINDS: [KeyKind; 3] = [KeyKind::Client, KeyKind::Generated, KeyKind::Token];
const OUTCOMES: [Option<Outcome>; 7] = [
    None,
    Some(Outcome::Cancelled),
    Some(Outcome::Executed),
    Some(Outcome::InProgress),
    Some(Outcome::NotExecuted),
    Some(Outcome::Refused),
    Some(Outcome::Unknown),
];

/// One record, the time, and what happened to it last.
pub(super) struct Sequence {
    pub(super) random: Random,
    pub(super) now_ms: u64,
    pub(super) origin: Origin,
    pub(super) kind: KeyKind,
    pub(super) record: Option<Operation>,
    /// The attempts of this record, and whether their own reply has come.
    pub(super) replied: BTreeMap<u32, bool>,
}

/// What a step did.
pub(super) enum Step {
    Arrived(Admission),
    Settled {
        attempt: u32,
        outcome: Option<Outcome>,
        was_open: bool,
    },
    Cancelled,
    Waited,
}

impl Sequence {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self {
            now_ms: 1_000 * DAY_MS,
            origin: random.pick(&ORIGINS),
            kind: random.pick(&KINDS),
            random,
            record: None,
            replied: BTreeMap::new(),
        }
    }

    pub(super) fn step(&mut self) -> Step {
        match self.random.between(0, 9) {
            0..=3 => self.arrive(),
            4..=7 if self.attempts() > 0 => self.settle(),
            8 => self.cancel(),
            _ => self.wait(),
        }
    }

    pub(super) fn attempts(&self) -> u32 {
        let view = |record: &Operation| record.view(self.now_ms).attempts;
        self.record.as_ref().map(view).unwrap_or_default()
    }

    /// A cancellation, and some time later whatever a ledger may say to it.
    fn cancel(&mut self) -> Step {
        let before = self.record.take();
        let (record, cancellation) =
            Operation::cancel(before.clone(), self.now_ms, self.kind, &self.terms(), None)
                .expect("no principals");
        self.record = match cancellation {
            Cancellation::Cancelled => Some(record),
            Cancellation::Decided => before,
            Cancellation::Ask(_) => {
                let asked = u32::try_from(self.random.between(0, self.attempts().into()));
                let said = self.random.pick(&OUTCOMES).unwrap_or(Outcome::Unknown);
                let (kind, terms) = (self.kind, self.terms());
                let asked = asked.unwrap_or_default();
                let hearing = Hearing {
                    asked_attempt: asked,
                    asked_ms: self.now_ms,
                    said,
                    storable: self.random.chance(700),
                    recorded: None,
                };
                let heard =
                    Operation::hear(before.clone(), self.now_ms, kind, &terms, None, hearing);
                heard.map(|(record, _)| record).or(before)
            }
        };
        Step::Cancelled
    }

    fn terms(&self) -> Terms {
        usual::terms(self.origin)
    }

    fn arrive(&mut self) -> Step {
        let card = u8::try_from(self.random.between(0, 11)).unwrap_or_default();
        // Mostly the same payload.
        let fingerprint = fingerprint(card.saturating_sub(8));
        let before = self.record.take();
        let is_new = before
            .as_ref()
            .is_none_or(|record| record.is_expired(self.now_ms));
        let (record, admission) = Operation::arrive(
            before,
            self.now_ms,
            self.kind,
            &self.terms(),
            None,
            fingerprint,
        );
        self.record = Some(record);
        if is_new {
            self.replied.clear();
        }
        if let Admission::Dispatch(attempt) = admission {
            self.replied.insert(attempt, false);
        }
        Step::Arrived(admission)
    }

    fn settle(&mut self) -> Step {
        let record = self.record.take().expect("checked");
        let attempts = record.view(self.now_ms).attempts;
        let attempt = u32::try_from(self.random.between(1, attempts.into())).unwrap_or(1);
        let outcome = self.random.pick(&OUTCOMES);
        let status = u16::try_from(self.random.between(100, 600)).unwrap_or(200);
        let reply = match self.random.chance(150) {
            true => Reply::Lost,
            false => Reply::Answered {
                status,
                outcome: outcome.map(Outcome::as_str),
                value: None,
            },
        };
        let settling = Settling {
            attempt,
            reply,
            storable: self.random.chance(700),
            recorded: None,
        };
        let (record, _) = record.settle(self.now_ms, settling);
        self.record = Some(record);
        let was_open = self.replied.insert(attempt, true) == Some(false);
        let outcome = outcome.filter(|_| reply != Reply::Lost);
        Step::Settled {
            attempt,
            outcome,
            was_open,
        }
    }

    fn wait(&mut self) -> Step {
        let wait_ms = self
            .random
            .pick(&[1, 1_000, MINUTE_MS, DAY_MS / 2, 8 * DAY_MS]);
        // Now and then the clock steps back.
        self.now_ms = match self.random.chance(100) {
            true => self.now_ms - wait_ms.min(DAY_MS),
            false => self.now_ms + wait_ms,
        };
        Step::Waited
    }
}
