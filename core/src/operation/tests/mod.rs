//! Stories told about a record, by rule.

mod cancel;
mod keys;
mod once;
mod operator;
mod pace;
mod steps;
mod stored;
mod streaming;
mod times;
mod token;

use super::*;
use crate::fingerprint::{Fingerprint, Parts};
use crate::key::KeyKind;
use crate::policy::HARD_TIMEOUT_MS;
use crate::principal::Principal;
use crate::proof::{Origin, Reply, Rules};

const LEASE_MS: u64 = 30_000;
const DAY_MS: u64 = 86_400_000;
const SETTLE_AFTER_MS: u64 = 900_000;

fn terms(origin: Origin) -> Terms {
    Terms {
        route: "orders".into(),
        origin,
        lease_ms: LEASE_MS,
        result_ttl_ms: DAY_MS,
        key_ttl_ms: 7 * DAY_MS,
        ledger_retention_ms: 30 * DAY_MS,
        settle_after_ms: SETTLE_AFTER_MS,
        finish: false,
        rules: Rules::default(),
    }
}

fn fingerprint(body: u8) -> Fingerprint {
    Fingerprint::of(&Parts {
        method: "POST",
        path_and_query: "/orders",
        content_type: "application/json",
        content_encoding: "",
        body_sha256: [body; 32],
    })
}

const CARD_A: u8 = 1;
const CARD_B: u8 = 2;

fn person(name: &str) -> Option<Principal> {
    Some(Principal::of(b"secret", "shop.example", name))
}

/// A record, and the verbs of a story told about it.
struct Story(Operation);

impl Story {
    fn claimed(origin: Origin, kind: KeyKind) -> Self {
        Self::claimed_at(0, origin, kind)
    }

    fn claimed_at(now_ms: u64, origin: Origin, kind: KeyKind) -> Self {
        let (record, admission) = Operation::arrive(
            None,
            now_ms,
            kind,
            &terms(origin),
            None,
            fingerprint(CARD_A),
        );
        assert_eq!(admission, Admission::Dispatch(1));
        Self(record)
    }

    /// Claimed by Alice.
    fn bound(origin: Origin, kind: KeyKind) -> Self {
        let (alice, terms) = (person("alice"), terms(origin));
        let (record, _) = Operation::arrive(None, 0, kind, &terms, alice, fingerprint(CARD_A));
        Self(record)
    }

    fn ledger() -> Self {
        Self::claimed(Origin::Ledger, KeyKind::Client)
    }

    fn arrives(&mut self, now_ms: u64, card: u8) -> Admission {
        let principal = self.0.principal;
        self.arrives_from(now_ms, principal, card)
    }

    fn arrives_from(&mut self, now_ms: u64, principal: Option<Principal>, card: u8) -> Admission {
        let (kind, terms) = (self.0.kind, self.0.terms.clone());
        let record = Some(self.0.clone());
        let (record, admission) =
            Operation::arrive(record, now_ms, kind, &terms, principal, fingerprint(card));
        self.0 = record;
        admission
    }

    fn replied(&mut self, now_ms: u64, attempt: u32, reply: Reply<'_>) -> Settled {
        let settling = Settling {
            attempt,
            reply,
            storable: true,
            recorded: None,
        };
        let (record, settled) = self.0.clone().settle(now_ms, settling);
        self.0 = record;
        settled
    }

    /// An answer without a word about the outcome.
    fn answers(&mut self, now_ms: u64, attempt: u32, status: u16) -> Settled {
        let reply = Reply::Answered {
            status,
            outcome: None,
            value: None,
        };
        self.replied(now_ms, attempt, reply)
    }

    fn says(&mut self, now_ms: u64, attempt: u32, outcome: &str) -> Settled {
        self.replied(
            now_ms,
            attempt,
            Reply::Answered {
                status: 200,
                outcome: Some(outcome),
                value: None,
            },
        )
    }

    fn resolved(&mut self, now_ms: u64, outcome: Resolved) -> Result<State, ResolveError> {
        let revision = self.0.revision;
        let resolution = Resolution { revision, outcome };
        self.0 = self.0.clone().resolve(now_ms, resolution)?;
        Ok(self.state(now_ms))
    }

    fn state(&self, now_ms: u64) -> State {
        self.0.view(now_ms).state
    }
}
