//! What this isolate has just answered (decision 12).
//!
//! Invariant: only an answer that is marked is kept, as plain bytes, and never longer than the mark says.
//! Losing all of it costs a call to a shard for each replay.

use std::cell::RefCell;

use js_sys::ArrayBuffer;
use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::policy::Route;
use oncegate_core::recent::{Question, Recent};
use worker::Result;

use crate::answer::{self, FRESH, REPLAYED};
use crate::body;
use crate::fields::Fields;
use crate::platform::now_ms;
use crate::wire::Response;

thread_local! {
    static RECENT: RefCell<Recent<Kept>> = RefCell::default();
}

/// An answer as its shard replays it: one that is sealed stays so.
struct Kept {
    status: u16,
    fields: Fields,
    body: Option<ArrayBuffer>,
}

impl Kept {
    fn answer(&self) -> Result<Response> {
        body::response(self.status, &self.fields, self.body.as_ref())
    }
}

/// What the shard would replay, if this was just answered.
pub(crate) fn answer(asked: &Question) -> Result<Option<Response>> {
    let kept = RECENT.with_borrow_mut(|recent| recent.answer(now_ms(), asked));
    kept.map(|kept| kept.answer()).transpose()
}

/// Whether this was asked a moment ago. Then a replay is worth being kept.
pub(crate) fn is_asked_again(asked: &Question) -> bool {
    RECENT.with_borrow_mut(|recent| recent.is_asked_again(now_ms(), asked))
}

/// Keeps what was answered, if it may be given again; gives it on.
pub(crate) async fn keep(
    asked_ms: u64,
    asked: &Question,
    route: &Route,
    response: Response,
) -> Result<Response> {
    let fresh = response.marks().fresh.as_deref();
    let Some(for_ms) = fresh.and_then(|fresh| fresh.parse().ok()) else {
        return Ok(response);
    };
    let (status, mut fields) = (response.status_code(), response.fields()?);
    let body = body::whole_response(response.inner()).await?;
    let bytes = body.byte_length() as usize;
    let body = (bytes > 0).then_some(body);
    fields.remove(FRESH);
    let answer = body::response(status, &fields, body.as_ref())?;
    if answer::is_replay(&fields) {
        // One request may have waited for it; for those who come now it lies there.
        fields.set(header::DECISION, REPLAYED);
    } else {
        fields = answer::as_replay(&fields, &route.answers.replay_headers);
    }
    let bytes = bytes + fields.size();
    let kept = Kept {
        status,
        fields,
        body,
    };
    RECENT.with_borrow_mut(|recent| recent.keep(asked_ms, for_ms, *asked, kept, bytes));
    Ok(answer)
}

/// Gives up what is kept of an operation.
pub(crate) fn forget(operation: &Identity) {
    RECENT.with_borrow_mut(|recent| recent.forget(operation));
}
