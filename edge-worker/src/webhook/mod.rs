//! Events that services send: verified, and then operations like all others.
//!
//! Invariant: no event is claimed, and none is stored, before its sender is proved. What a sender is
//! told says *taken* only of what was executed, or lies in the queue.
//!
//! | module | part |
//! | --- | --- |
//! | `crypto` | signatures with public keys, and what is encrypted |
//! | `queue` | events that are stored first, and delivered from there |
//! | `warning` | keys that end soon |

mod crypto;
pub(crate) mod queue;
pub(crate) mod warning;

use oncegate_core::key::Key;
use oncegate_core::outcome::Status;
use oncegate_core::policy::{Asked, Route};
use oncegate_core::problem::Problem;
use oncegate_core::webhook::keys::Keys;
use oncegate_core::webhook::{Delivery, Event, Proof, Sealed, Unbelieved, Webhook, Word};
use worker::{Error, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::fields::Fields;
use crate::platform::now_ms;
use crate::refusal::Refusal;
use crate::wire::Response;

/// The identity of the event that has arrived; a refusal if it is not its sender's.
pub(crate) async fn identity(
    webhook: &Webhook,
    asked: &Asked<'_>,
    arrived: &Arrived,
    route: &Route,
    config: &Config,
) -> Result<Key, Refusal> {
    let keys = config.webhook_keys.get(&route.name);
    let keys = keys.ok_or_else(|| Error::from("a webhook without keys"))?;
    let delivery = Delivery {
        headers: &arrived.headers_of(webhook.headers()),
        content_type: asked.content_type,
        body: asked.body,
        now_ms: now_ms(),
    };
    let refused = |unbelieved: Unbelieved| Refusal::from(Problem::from(&unbelieved));
    let proof = webhook.verify(keys, &delivery).map_err(refused)?;
    if let Proof::Asked(questions) = proof
        && !crypto::is_any_signed(&questions).await?
    {
        return Err(refused(Unbelieved::Signature));
    }
    warning::give(&route.name, keys, delivery.now_ms);
    match webhook.event(&delivery).map_err(refused)? {
        Event::Known(key) => Ok(key),
        Event::Sealed(sealed) => opened(&sealed, keys, delivery.now_ms).await,
        Event::Elsewhere => match route.key(asked).map_err(|fault| Problem::from(&fault))? {
            Some((key, _)) => Ok(key),
            None => Err(Error::from("a webhook without key_from").into()),
        },
    }
}

/// The identity of an event that is encrypted, with the first secret that opens it.
async fn opened(sealed: &Sealed, keys: &Keys, now_ms: u64) -> Result<Key, Refusal> {
    for (_, secret) in keys.secrets(now_ms) {
        if let Some(opened) = crypto::open(secret, sealed).await? {
            let identity = sealed.identity(&opened);
            return identity.map_err(|unbelieved| Problem::from(&unbelieved).into());
        }
    }
    Err(Problem::from(&Unbelieved::Seal).into())
}

/// What the sender is told, in its words, of what the gate has answered.
pub(crate) fn told(webhook: &Webhook, answer: Response) -> Result<Response> {
    let marks = answer.marks();
    if marks.decision.as_deref() == Some(queue::STORED) {
        return spoken(&webhook.acknowledgement(), answer);
    }
    let state = marks.state.as_deref().and_then(Status::parse);
    match webhook.word(state, answer.status_code()) {
        Some(word) => spoken(&word, answer),
        None => Ok(answer),
    }
}

/// A word, with what the answer in whose place it comes says of the operation.
fn spoken(word: &Word, answer: Response) -> Result<Response> {
    const KEPT: [&str; 3] = ["oncegate-", "idempotency-", "retry-after"];
    let said = answer.fields()?;
    let is_kept = |name: &str| KEPT.iter().any(|kept| name.starts_with(kept));
    let kept = said.iter().filter(|(name, _)| is_kept(name));
    let mut fields: Fields = kept
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    answer.discard();
    fields.set("cache-control", "no-store");
    if let Some(content_type) = word.content_type {
        fields.set("content-type", content_type);
    }
    let body = (!word.body.is_empty()).then(|| word.body.as_str().into());
    Response::new(word.status, &fields, body.as_ref())
}
