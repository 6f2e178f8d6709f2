//! Events that are acknowledged when they lie in a queue, and delivered from there.
//!
//! Invariant: an event is acknowledged only after the queue has it, and leaves the queue only when it is
//! settled. The queue may deliver it more than once: its identity makes it one operation.

use js_sys::{ArrayBuffer, Object, Reflect};
use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::policy::Route;
use oncegate_core::problem::{Code, Problem};
use oncegate_core::queue::Fate;
use oncegate_core::recent::Question;
use oncegate_core::switch::Mode;
use oncegate_core::webhook::{Acknowledge, Webhook};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;
use worker::{
    Context, Env, Error, MessageBatch, QueueContentType, RawMessage, RawMessageBuilder, Result,
};

use crate::config::Config;
use crate::fields::Fields;
use crate::protect::{Claiming, Request};
use crate::queues::{fate, settle_each};
use crate::wire::Response;
use crate::{answer, gate, log, switch};

/// How a request is decided whose event lies in the queue now.
pub(super) const STORED: &str = "stored";

/// The binding of the queue.
pub(crate) const BINDING: &str = "WEBHOOKS";

/// The largest body of an event in a message. Queues take 128,000 bytes, and the header fields are in it
/// too. A larger event is delivered at once.
const LARGEST_BODY_BYTES: u32 = 100_000;

/// An event in the queue, without its body.
#[derive(Deserialize, Serialize)]
struct Head {
    route: String,
    scope: String,
    key: String,
    request: Request,
}

/// Whether an event of this route is stored first.
pub(crate) fn takes(route: &Route, claiming: &Claiming) -> bool {
    let acknowledge = route.webhook.as_ref().map(Webhook::acknowledge);
    let fits = claiming.body.byte_length() <= LARGEST_BODY_BYTES;
    acknowledge == Some(Acknowledge::Stored) && fits
}

/// Puts an event into the queue.
pub(crate) async fn put(
    claiming: &Claiming,
    request: Request,
    route: &Route,
    env: &Env,
) -> Result<Response> {
    let operation = claiming.asked.operation.reference();
    let head = Head {
        route: route.name.clone(),
        scope: claiming.scope.clone(),
        key: claiming.key.as_str().to_owned(),
        request,
    };
    if let Err(error) = send(&head, &claiming.body, env).await {
        let line = log::error("webhook_not_stored").operation(&operation);
        line.detail(error).write();
        let problem = Problem::new(Code::GateUnavailable).retry_after(1_000);
        return Ok(answer::problem(&problem)?.into());
    }
    let mut fields = Fields::default();
    fields.set(header::OPERATION, operation);
    fields.set(header::DECISION, STORED);
    Response::new(200, &fields, None)
}

async fn send(head: &Head, body: &ArrayBuffer, env: &Env) -> Result<()> {
    let message = Object::new();
    let head = serde_json::to_string(head)?;
    Reflect::set(&message, &"head".into(), &head.into())?;
    Reflect::set(&message, &"body".into(), body)?;
    let message = RawMessageBuilder::new(message.into());
    let message = message.build_with_content_type(QueueContentType::V8);
    env.queue(BINDING)?.send_raw(message).await
}

/// Delivers the events of a batch.
pub(crate) async fn deliver_all(
    batch: &MessageBatch<()>,
    env: &Env,
    config: &std::rc::Rc<Config>,
    context: &Context,
) {
    let switch = switch::current(env, config, context).await;
    settle_each(batch, async |message| {
        let stored = Stored::read(&message.body(), config)?;
        match switch.of(stored.route) {
            Mode::Refuse => Ok(Fate::Again),
            _ => stored.deliver(message, env, config).await,
        }
    })
    .await;
}

/// An event from the queue.
struct Stored<'a> {
    route: &'a Route,
    request: Request,
    claiming: Claiming,
}

impl<'a> Stored<'a> {
    fn read(message: &JsValue, config: &'a Config) -> Result<Self> {
        let head = Reflect::get(message, &"head".into())?.as_string();
        let head = head.ok_or_else(|| Error::from("a message that is no event"))?;
        let head: Head = serde_json::from_str(&head)?;
        let body = Reflect::get(message, &"body".into())?;
        let route = config.policy.route(Some(&head.route));
        let route = route.ok_or_else(|| Error::from("an event of a route that is no more"))?;
        let key = Key::from_value(&head.key).map_err(|error| Error::from(error.to_string()))?;
        let secret = config.identity_secret.as_bytes();
        let asked = Question {
            operation: Identity::of_generated(secret, &head.scope, &route.name, &key),
            fingerprint: Webhook::fingerprint(),
            principal: None,
        };
        Ok(Self {
            route,
            request: head.request,
            claiming: Claiming {
                asked,
                scope: head.scope,
                key,
                kind: KeyKind::Generated,
                token: None,
                body: body.dyn_into()?,
                uses_memory: false,
            },
        })
    }

    async fn deliver(self, message: &RawMessage, env: &Env, config: &Config) -> Result<Fate> {
        let Self {
            route,
            request,
            claiming,
        } = self;
        let answer = gate::answer_to(&claiming, request, route, env, config).await?;
        Ok(fate(message, answer, route))
    }
}
