//! What a route reads in its origin's answers, what it keeps of them, and how it passes them on (rules
//! A2, P5, P6).

use js_sys::ArrayBuffer;
use oncegate_core::policy::{LARGEST_STORED_BYTES, Store};
use oncegate_core::proof::{Origin, Place};
use oncegate_core::sealing::{SealingSecret, SealingSecrets};
use worker::Result;

use super::call::{Body, Head, Received};
use crate::answer::ABOUT_OPERATION;
use crate::config::Config;
use crate::fields::Fields;
use crate::message::Dispatch;
use crate::sealing::{self, SEALED};
use crate::{answer, body, headers, platform};

/// See above.
pub(super) struct Keep {
    /// The operation that is answered.
    operation: String,
    /// Whether answers are passed on as they come, and never stored.
    pub(super) stream: bool,
    /// The largest answer that is stored, in bytes.
    pub(super) max_bytes: u64,
    /// Whether answers are stored at all.
    stores: bool,
    /// Header fields that are stored beside those of the contract.
    more: Vec<String>,
    /// What seals that which is stored.
    secret: Option<SealingSecret>,
    /// Where the origin says what became of the request.
    place: Option<Place>,
    /// Whose word counts.
    pub(super) origin: Origin,
}

/// An answer as it is stored.
pub(super) struct Kept {
    pub(super) fields: Vec<(String, String)>,
    pub(super) body: Option<ArrayBuffer>,
}

impl Keep {
    /// The rule is the record's; what is kept is the route's of today, and of a route that is no more
    /// nothing but what it proved.
    pub(super) fn of(config: &Config, dispatch: &Dispatch) -> Self {
        let rule = dispatch.terms.rules.outcome.as_ref();
        let route = config.policy.route(Some(&dispatch.terms.route));
        let answers = route.map(|route| &route.answers);
        let secret = config.sealing_secrets.as_ref().map(SealingSecrets::first);
        Self {
            operation: dispatch.operation.clone(),
            stream: answers.is_some_and(|answers| answers.stream),
            max_bytes: answers.map_or(LARGEST_STORED_BYTES, |answers| answers.max_bytes),
            stores: answers.is_some_and(|answers| answers.store == Store::Answer),
            more: answers.map_or_else(Vec::new, |answers| answers.replay_headers.clone()),
            secret: secret
                .filter(|_| answers.is_some_and(|answers| answers.seal))
                .cloned(),
            place: rule.map(|rule| rule.place.clone()),
            origin: dispatch.terms.origin,
        }
    }

    /// Marks an answer that is stored as it is, for the gate to remember. What is sealed in its row does not lie open
    /// elsewhere.
    pub(super) fn mark(&self, fields: &mut Fields, body: &ArrayBuffer, remember_ms: u64) {
        if self.secret.is_none() {
            let stored = headers::for_replay(fields, &self.more);
            let names = stored.iter().map(|(name, _)| &**name);
            let names: Vec<&str> = names.chain(ABOUT_OPERATION).collect();
            answer::mark(fields, Some(body), remember_ms, &names);
        }
    }

    /// The value at the place of the route's outcome rule. A body that is coded, although the origin was
    /// asked not to, or too large to be held, has none.
    pub(super) fn value(&self, head: &Head, body: Option<&ArrayBuffer>) -> Option<String> {
        match (&self.place, plain(head, body)) {
            (Some(Place::Header(name)), _) => head.fields.get(name).map(str::to_owned),
            (Some(place @ Place::Json(_)), Some(body)) => place.value_in(&platform::bytes(body)),
            _ => None,
        }
    }

    /// Whether there may be one all the same, in a body that could not be read.
    pub(super) fn may_hide_value(&self, head: &Head, body: Option<&ArrayBuffer>) -> bool {
        // Without a rule for bodies none is copied to be looked into.
        let Some(place @ Place::Json(_)) = &self.place else {
            return false;
        };
        let content_type = head.fields.get("content-type").unwrap_or_default();
        let bytes = plain(head, body).map(platform::bytes);
        place.may_hide_value(content_type, bytes.as_deref())
    }
}

/// A body that can be read as it is.
fn plain<'a>(head: &Head, body: Option<&'a ArrayBuffer>) -> Option<&'a ArrayBuffer> {
    body.filter(|_| head.fields.get("content-encoding").is_none())
}

impl Received {
    /// The answer as it is stored; `None` if it cannot be given again: it is too large for a row, or it
    /// cannot be given to anybody.
    pub(super) async fn kept(&self) -> Result<Option<Kept>> {
        let (Head { status, passed, .. }, keep) = (&self.head, &self.keep);
        let Body::Whole(body) = &self.body else {
            return Ok(None);
        };
        let fields = headers::for_replay(passed, &keep.more);
        let lengths = fields
            .iter()
            .map(|(name, value)| name.len() + in_a_row(value));
        let size = lengths.sum::<usize>() as u64 + u64::from(body.byte_length());
        if !keep.stores || size > keep.max_bytes || *status > body::LAST_STATUS {
            return Ok(None);
        }
        Ok(Some(match &keep.secret {
            None => Kept {
                fields,
                body: Some(body.clone()),
            },
            // There is nowhere to put what is sealed.
            Some(_) if body::is_bodiless(*status) => Kept {
                fields: Vec::new(),
                body: None,
            },
            Some(secret) => Kept {
                fields: vec![(SEALED.to_owned(), secret.name().to_owned())],
                body: Some(sealing::seal_answer(secret, &keep.operation, &fields, body).await?),
            },
        }))
    }
}

/// How long the value of a header field is in a row, which holds it as JSON. A row that is too large takes
/// the proof with it.
fn in_a_row(value: &str) -> usize {
    let escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | b'\t');
    value.len() + value.bytes().filter(|byte| escaped(byte)).count()
}
