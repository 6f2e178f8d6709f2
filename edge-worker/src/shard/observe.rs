//! What would be decided about requests that pass unprotected.
//!
//! Invariant: nothing but the record is touched. There is no courier, nobody waits, and nothing that
//! stays unknown is anybody's trouble, or kept for longer than a key.

use oncegate_core::operation::{Admission, Judged, Operation};
use oncegate_core::outcome::Status;
use oncegate_core::problem::Code;
use oncegate_store::Written;
use worker::{Date, Error, Result};

use super::Inner;
use super::row::Found;
use super::token::Presented;
use crate::answer::{Answer, DISPATCHED, REPLAYED, WAITED};
use crate::message::{Claim, Completion, Observed, Reply};

impl Inner {
    /// Decides about a request, and records what would have been an attempt.
    pub(super) fn observe(&self, claim: &Claim) -> Result<Observed> {
        let now_ms = Date::now().as_millis();
        let found = match self.find_or_turn_away(now_ms, &claim.operation, &claim.scope)? {
            Ok(found) => found,
            Err(problem) => return self.would(now_ms, problem.code.as_str(), None, None),
        };
        let presented = Presented::of_claim(claim, now_ms);
        if presented.judged(now_ms, &found) != Judged::Good {
            return self.would(now_ms, Code::TokenExpired.as_str(), None, None);
        }
        let Found { row, record, .. } = found;
        let (record, admission) = Operation::arrive(
            record,
            now_ms,
            claim.kind,
            &presented.terms,
            claim.principal,
            claim.fingerprint,
        );
        let state = record.view(now_ms).state.status();
        let (decision, attempt) = match admission {
            Admission::Dispatch(attempt) => (DISPATCHED, Some(attempt)),
            Admission::Replay => (REPLAYED, None),
            Admission::Wait { .. } => (WAITED, None),
            Admission::Turn(turn) => (Code::from(turn).as_str(), None),
        };
        if attempt.is_some() {
            let ttl_ms = record.terms().key_ttl_ms;
            self.keep_for(now_ms, row, record, Written::NOTHING, ttl_ms)?;
        }
        self.would(now_ms, decision, Some(state), attempt)
    }

    /// Records what came of it.
    pub(super) fn observed(&self, completion: &Completion) -> Result<Observed> {
        let now_ms = Date::now().as_millis();
        let Found { row, record, .. } = self.find(now_ms, &completion.operation)?;
        let record = record.ok_or_else(|| Error::from("a completion without a record"))?;
        // An answer without a byte: that there is one decides what duplicates would hear.
        let answer = match completion.reply {
            Reply::Answered { status, .. } => Some(Answer {
                status,
                headers: Vec::new(),
                body: None,
            }),
            Reply::Lost => None,
        };
        let (record, settled) = record.settle(now_ms, completion.settling(answer.is_some()));
        let state = record.view(now_ms).state.status();
        let written = Written {
            answer: answer.as_ref().filter(|_| settled.store),
            request: None,
        };
        if settled.changed {
            let ttl_ms = record.terms().key_ttl_ms;
            self.keep_for(now_ms, row, record, written, ttl_ms)?;
        }
        self.would(now_ms, DISPATCHED, Some(state), Some(completion.attempt))
    }

    /// What would have been decided.
    fn would(
        &self,
        now_ms: u64,
        decision: &str,
        state: Option<Status>,
        attempt: Option<u32>,
    ) -> Result<Observed> {
        Ok(Observed {
            decision: decision.to_owned(),
            state: state.map(|state| state.as_str().to_owned()),
            attempt,
            rows_written: self.store(now_ms)?.database().take_written(),
        })
    }
}
