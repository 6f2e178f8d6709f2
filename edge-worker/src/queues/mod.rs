//! Batches of messages from Cloudflare Queues.
//!
//! Invariant: what becomes of a message is decided here and nowhere else, by what the gate has answered to
//! it, for each by itself and as soon as it is known: whatever fails later concerns only those that are
//! not decided. One that is not decided comes again, and finds its operation.
//!
//! | module | part |
//! | --- | --- |
//! | `message` | a message as the request that it stands for |

mod message;

use std::rc::Rc;

use futures_util::future::join_all;
use oncegate_core::outcome::Status;
use oncegate_core::policy::Route;
use oncegate_core::queue::{Fate, Queue};
use oncegate_core::switch::Mode;
use worker::{
    Context, Env, Error, MessageBatch, MessageExt, QueueRetryOptionsBuilder, RawMessage, Result,
};

use crate::config::Config;
use crate::platform::now_ms;
use crate::wire::Response;
use crate::{log, switch, webhook};

/// A message waits as long as it has waited before, so that the waits double, within these bounds.
const SHORTEST_WAIT_S: u64 = 5;
const LONGEST_WAIT_S: u64 = 60 * 60;

/// Works off a batch of whichever queue.
pub(crate) async fn work_off(
    batch: &MessageBatch<()>,
    env: &Env,
    config: &Rc<Config>,
    context: &Context,
) {
    let name = batch.queue();
    if name == config.webhook_queue {
        return webhook::queue::deliver_all(batch, env, config, context).await;
    }
    match config.queues.iter().find(|queue| queue.name() == name) {
        Some(queue) => deliver_all(batch, queue, env, config, context).await,
        None => {
            let line = log::error("queue").with("queue", name);
            line.detail("nobody here works this queue off; QUEUES does not name it")
                .write();
            batch.retry_all();
        }
    }
}

async fn deliver_all(
    batch: &MessageBatch<()>,
    queue: &Queue,
    env: &Env,
    config: &Rc<Config>,
    context: &Context,
) {
    let switch = switch::current(env, config, context).await;
    let route = config.policy.route(Some(queue.route()));
    settle_each(batch, async |message| match route {
        Some(route) if switch.of(route) == Mode::Refuse => Ok(Fate::Again),
        Some(route) => message::deliver(message, queue, route, env, config).await,
        None => Err(Error::from("a queue without its route")),
    })
    .await;
}

/// Delivers the messages of a batch, all at once: one that takes long keeps no other waiting.
pub(crate) async fn settle_each(
    batch: &MessageBatch<()>,
    deliver: impl AsyncFn(&RawMessage) -> Result<Fate>,
) {
    let deliver = &deliver;
    let deliveries = batch.raw_iter().map(async |message: RawMessage| {
        match deliver(&message).await {
            Ok(Fate::Done | Fate::Refused) => message.ack(),
            Ok(Fate::Again) => wait(&message),
            // It need not wait: no time makes it better.
            Ok(Fate::Poison) => message.retry(),
            Err(error) => {
                log::error("message_delivery").detail(error).write();
                wait(&message);
            }
        }
    });
    join_all(deliveries).await;
}

/// After as many retries as the queue is configured for, it is a dead letter.
fn wait(message: &RawMessage) {
    let age_ms = now_ms().saturating_sub(message.timestamp().as_millis());
    let wait_s = (age_ms / 1_000).clamp(SHORTEST_WAIT_S, LONGEST_WAIT_S);
    let options = QueueRetryOptionsBuilder::new().with_delay_seconds(wait_s as u32);
    message.retry_with_options(&options.build());
}

/// What the gate's answer makes of a message. Nobody hears that answer: what somebody should know of it is
/// logged.
pub(crate) fn fate(message: &RawMessage, answer: Response, route: &Route) -> Fate {
    let marks = answer.marks();
    let state = marks.state.as_deref().and_then(Status::parse);
    let decision = marks.decision.as_deref();
    let fate = Fate::of(state, decision);
    let event = match fate {
        Fate::Done | Fate::Again => None,
        Fate::Refused if route.webhook.is_some() => Some("webhook_refused"),
        Fate::Refused => Some("message_refused"),
        Fate::Poison => Some("message_poison"),
    };
    if let Some(event) = event {
        let line = log::warn(event).with("operation", &marks.operation);
        let line = line.with("route", &route.name).with("decision", decision);
        line.with("message", message.id()).write();
    }
    answer.discard();
    fate
}
