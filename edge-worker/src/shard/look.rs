//! What became of an operation: nothing is written, unless it is in trouble and on no list yet.

use oncegate_core::header;
use oncegate_core::operation::Operation;
use oncegate_core::principal::Principal;
use oncegate_core::problem::Problem;
use worker::{Date, Response, ResponseBuilder, Result};

use super::Inner;
use super::row::Found;
use crate::answer;
use crate::message::Seen;

impl Inner {
    pub(super) fn look(&self, reference: &str, principal: Option<Principal>) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let Found { row, record, .. } = self.find(now_ms, reference)?;
        self.note_found(now_ms, row);
        let seen = match Operation::look(record.as_ref(), now_ms, principal) {
            Ok(view) => Seen::new(reference.to_owned(), view),
            Err(turn) => return answer::turn_away(&Problem::new(turn.into()), reference),
        };
        ResponseBuilder::new()
            .with_header(header::OPERATION, &seen.operation)?
            .with_header("cache-control", "no-store")?
            .from_json(&seen)
    }
}
