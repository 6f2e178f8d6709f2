//! What a person does: settles what nothing else can, erases content, looks for trouble (section 7).
//!
//! Invariant: a person's *no* counts only when nothing that was sent can still begin, and never
//! against proof. What was decided stays decided; only proof of *executed* adds a dispute.

use super::record::{AnswerMark, Operation};
use super::vocabulary::{
    NotSettled, Resolution, ResolveError, Resolved, State, Trouble, TroubleState,
};
use crate::outcome::Outcome;

impl Operation {
    /// Settles the operation by a person's word. The record must be stored.
    ///
    /// # Errors
    ///
    /// [`ResolveError`] says why not; the record is as it was.
    pub fn resolve(mut self, now_ms: u64, resolution: Resolution) -> Result<Self, ResolveError> {
        let now_ms = self.now(now_ms);
        self.may_resolve(now_ms, resolution)?;
        if self.state.is_closed() {
            self.confirm(now_ms);
        } else {
            self.unsettled.settle_all();
            match resolution.outcome {
                Resolved::Cancelled => self.close(now_ms, State::Cancelled),
                Resolved::Executed => self.close(now_ms, State::Executed),
                Resolved::NotExecuted => self.join(now_ms),
                Resolved::Refused => {
                    self.remember_refusal();
                    self.join(now_ms);
                }
            }
        }
        self.touch(now_ms);
        Ok(self)
    }

    fn may_resolve(&self, now_ms: u64, resolution: Resolution) -> Result<(), ResolveError> {
        let until_ms = self.courier_ends_ms().max(self.settles_after_ms());
        let executed = resolution.outcome == Resolved::Executed;
        let current = self.revision;
        match self.state {
            _ if resolution.revision != current => Err(ResolveError::Revision { current }),
            _ if now_ms < until_ms && !self.is_disputed() => {
                Err(ResolveError::TooEarly { until_ms })
            }
            _ if self.is_disputed() && !executed => Err(ResolveError::Executed),
            _ if self.is_disputed() => Ok(()),
            State::Executed if !executed => Err(ResolveError::Executed),
            State::Cancelled | State::Refused if executed => Ok(()),
            State::Released if matches!(resolution.outcome, Resolved::NotExecuted) => {
                Err(ResolveError::Settled(self.state))
            }
            State::Dispatched | State::Unknown | State::Released => Ok(()),
            state => Err(ResolveError::Settled(state)),
        }
    }

    /// A person says that a closed operation was executed: news that begin a dispute, or end one.
    fn confirm(&mut self, now_ms: u64) {
        if self.is_disputed() {
            self.disputed_ms = None;
            // Nobody has believed the record meanwhile: its time begins now.
            self.close(now_ms, State::Executed);
            self.answer = AnswerMark::Missing;
        } else {
            self.doubt(now_ms, Outcome::Executed);
        }
    }

    /// Forgets the content and keeps the tombstone: later duplicates hear what became of it, without
    /// the answer. The record must be stored.
    ///
    /// # Errors
    ///
    /// [`NotSettled`]: as long as an attempt may be under way, the content is needed.
    pub fn erase(mut self, now_ms: u64) -> Result<Self, NotSettled> {
        if !self.is_settled() {
            return Err(NotSettled);
        }
        self.answer = AnswerMark::Missing;
        self.erased = true;
        self.touch(now_ms);
        Ok(self)
    }

    /// Whether somebody should look at the operation.
    pub fn trouble(&self, now_ms: u64) -> Option<Trouble> {
        let now_ms = self.now(now_ms);
        if let Some(since_ms) = self.disputed_ms {
            let state = TroubleState::Disputed;
            return Some(Trouble { state, since_ms });
        }
        let lost = match self.state_at(now_ms) {
            State::Unknown => true,
            // Another attempt is under way, and an earlier one is lost all the same.
            State::Dispatched => !self.unsettled.others_settled(self.attempt),
            _ => false,
        };
        let state = match self.is_held(now_ms) {
            true => TroubleState::Held,
            false => TroubleState::Unknown,
        };
        lost.then_some(Trouble {
            state,
            since_ms: self.claimed_ms,
        })
    }
}
