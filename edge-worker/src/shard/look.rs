//! What became of an operation: nothing is written.

use oncegate_core::header;
use worker::{Date, Response, ResponseBuilder, Result};

use super::{Inner, identity};
use crate::message::Seen;

impl Inner {
    pub(super) fn look(&self, reference: String) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&reference)?;
        let record = self.store(now_ms)?.find(now_ms, &operation)?.record;
        let record = record.filter(|record| !record.is_expired(now_ms));
        let seen = Seen::new(reference, record.map(|record| record.view(now_ms)));
        ResponseBuilder::new()
            .with_header(header::OPERATION, &seen.operation)?
            .with_header("cache-control", "no-store")?
            .from_json(&seen)
    }
}
