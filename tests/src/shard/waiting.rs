//! Requests that wait for the answer of an attempt that another one started.

use oncegate_core::outcome::Status;

use super::answers::respond;
use super::glue::replayed;
use super::{Pending, Shard};
use crate::env::Env;
use crate::model::{Answered, CallId, KeyId};
use crate::plant::Plant;

impl Shard {
    pub(super) fn waiters(&self, key: KeyId) -> Vec<CallId> {
        let waits = |pending: &Pending| pending.waits && pending.call.key == key;
        self.pending
            .iter()
            .filter(|(_, pending)| waits(pending))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Those who asked for what was answered get the answer, the others read the record.
    pub(super) fn wake_waiters(
        &mut self,
        env: &mut Env,
        key: KeyId,
        answer: Option<&Answered>,
        status: Status,
    ) {
        let asked = self.rows[&key].record.fingerprint();
        for id in self.waiters(key) {
            let call = self.pending[&id].call;
            match answer.filter(|_| asked == Some(call.payload.fingerprint())) {
                Some(answer) => {
                    self.pending.remove(&id);
                    respond(env, call, replayed(answer, status));
                }
                None => self.answer_from_record(env, id),
            }
        }
    }

    pub(super) fn wait_over(&mut self, env: &mut Env, id: CallId) {
        if let Some(Pending { call, waits: true }) = self.pending.get(&id).copied()
            && let Some(row) = self.rows.get(&call.key)
        {
            let attempt = row.record.view(self.now_ms(env)).attempts;
            if env.has(Plant::WaiterDispatches) {
                return self.dispatch(env, Some(id), call.key, call.payload, attempt);
            }
            if env.has(Plant::WaiterReleases) {
                self.rows.remove(&call.key);
            }
        }
        self.answer_from_record(env, id);
    }
}
