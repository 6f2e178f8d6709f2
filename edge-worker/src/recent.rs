//! What this isolate has just answered (decision 12).
//!
//! Invariant: only an answer that is marked is kept, as plain bytes, and never longer than the mark says.
//! Losing all of it costs a call to a shard for each replay.

use std::cell::RefCell;

use js_sys::ArrayBuffer;
use oncegate_core::identity::Identity;
use oncegate_core::outcome::Status;
use oncegate_core::recent::{Life, Question, Recent};
use worker::Result;

use crate::answer::{self, REMEMBER};
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
    let kept = RECENT.with_borrow(|recent| recent.answer(now_ms(), asked));
    kept.map(|kept| kept.answer()).transpose()
}

/// Notes that this is asked; says whether it was a moment ago, so that a replay is worth being remembered.
pub(crate) fn note(asked: &Question) -> bool {
    RECENT.with_borrow_mut(|recent| recent.note(now_ms(), asked))
}

/// Gives on what was answered, without its mark.
pub(crate) fn unmarked(asked: &Question, response: Response) -> Result<Response> {
    let marks = response.marks();
    // If the shard has something else to say by now, that counts.
    if marks.state.as_deref() != Some(Status::Replayed.as_str()) {
        RECENT.with_borrow_mut(|recent| recent.withdraw(asked));
    }
    if marks.remember.is_none() {
        return Ok(response);
    }
    let mut fields = response.fields()?;
    fields.remove(REMEMBER);
    let body = response.inner().body();
    Response::new(
        response.status_code(),
        &fields,
        body.as_ref().map(AsRef::as_ref),
    )
}

/// Gives on what was answered, and remembers it if its mark says so and it is not too late.
pub(crate) async fn remember(
    asked_ms: u64,
    asked: &Question,
    response: Response,
) -> Result<Response> {
    let mark = response.marks().remember.as_deref();
    let mark = mark.and_then(answer::read_mark);
    let mark = mark.map(|(for_ms, names)| (Life::new(asked_ms, for_ms), names));
    let Some((life, names)) = mark.filter(|(life, _)| life.holds(now_ms())) else {
        return unmarked(asked, response);
    };
    let (status, mut fields) = (response.status_code(), response.fields()?);
    let body = body::whole_response(response.inner()).await?;
    let size = body.byte_length() as usize;
    let body = (size > 0).then_some(body);
    fields.remove(REMEMBER);
    let given = body::response(status, &fields, body.as_ref())?;
    let fields = answer::remembered(fields, &names);
    let size = size + fields.size();
    let kept = Kept {
        status,
        fields,
        body,
    };
    RECENT.with_borrow_mut(|recent| recent.keep(now_ms(), life, asked, kept, size));
    Ok(given)
}

/// Gives up what is kept of an operation.
pub(crate) fn forget(operation: &Identity) {
    RECENT.with_borrow_mut(|recent| recent.forget(operation));
}
