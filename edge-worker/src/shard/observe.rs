//! What would be decided about requests that pass unprotected.
//!
//! Invariant: nothing but the record is touched. There is no courier, nobody waits, and nothing that
//! stays unknown is anybody's trouble, or kept for longer than a key.

use oncegate_core::operation::{Admission, Operation};
use oncegate_core::problem::Code;
use oncegate_store::Written;
use worker::{Date, Error, Result};

use super::{Inner, identity};
use crate::answer::{Answer, DISPATCHED, REPLAYED, WAITED};
use crate::message::{Claim, Completion, Observed, Reply};
use crate::store::Found;

impl Inner {
    /// Decides about a request, and records what would have been an attempt.
    pub(super) fn observe(&self, claim: &Claim) -> Result<Observed> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&claim.operation)?;
        let store = self.store(now_ms)?;
        let found = store.find(now_ms, &operation)?;
        if found.is_absent(now_ms)
            && let Some(problem) = self.turn_away(now_ms, &claim.scope)?
        {
            return Ok(Observed {
                decision: problem.code.as_str().to_owned(),
                state: None,
                attempt: None,
                rows_written: store.database().take_written(),
            });
        }
        let (record, admission) = Operation::arrive(
            found.record,
            now_ms,
            claim.kind,
            &claim.terms,
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
            let keep_until_ms = now_ms + record.terms().key_ttl_ms;
            store.write_until(
                &operation,
                found.place,
                record,
                Written::NOTHING,
                keep_until_ms,
            )?;
        }
        Ok(Observed {
            decision: decision.to_owned(),
            state: Some(state.as_str().to_owned()),
            attempt,
            rows_written: store.database().take_written(),
        })
    }

    /// Records what came of it.
    pub(super) fn observed(&self, completion: &Completion) -> Result<Observed> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&completion.operation)?;
        let store = self.store(now_ms)?;
        let Found { record, place, .. } = store.find(now_ms, &operation)?;
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
            let keep_until_ms = now_ms + record.terms().key_ttl_ms;
            store.write_until(&operation, place, record, written, keep_until_ms)?;
        }
        Ok(Observed {
            decision: DISPATCHED.to_owned(),
            state: Some(state.as_str().to_owned()),
            attempt: Some(completion.attempt),
            rows_written: store.database().take_written(),
        })
    }
}
