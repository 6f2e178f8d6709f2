//! The edge gate: a Cloudflare Worker that lets an operation happen once.
//!
//! ```text
//!            ┌────────── this Worker ──────────┐   ┌──── object ────┐
//!  client ──▶│ gate: key, fingerprint, route   │──▶│ shard: decides │
//!            └─────────────────────────────────┘   └───┬────────▲───┘
//!                                            starts    │        │ completes
//!            ┌────────── this Worker ──────────┐   ┌───▼────────┴───┐
//!  origin ◀──│ courier: carries, signs, judges │◀──│ service binding│
//!            └─────────────────────────────────┘   └────────────────┘
//! ```
//!
//! Every decision is made by `oncegate-core`; this crate reads requests, stores records and carries
//! bytes. Bodies stay in JavaScript wherever nothing has to be decided on them.

mod admin;
mod answer;
mod arrived;
mod bearer;
mod body;
mod breaker;
mod caller;
mod claims;
mod config;
mod cors;
mod courier;
mod cron;
mod desk;
mod endpoints;
mod errand;
mod fields;
mod gate;
mod headers;
mod jwt;
mod locks;
mod log;
mod loops;
mod message;
mod observe;
mod origins;
mod pace;
mod platform;
mod protect;
mod proxy;
mod queues;
mod recent;
mod refusal;
mod sealing;
mod shard;
mod shards;
mod store;
mod switch;
mod tally;
mod tokens;
mod waiters;
mod wanted;
mod web_crypto;
mod webhook;
mod wire;

use futures_channel::oneshot;
use worker::{Context, Env, Error, MessageBatch, Result, ScheduleContext, ScheduledEvent, event};

use crate::config::Config;
use crate::message::Dispatch;
use crate::wire::{Incoming, Response};

#[event(fetch)]
async fn fetch(request: web_sys::Request, env: Env, context: Context) -> Result<web_sys::Response> {
    let mut incoming = Incoming::read(request)?;
    let config = match Config::load(&env) {
        Ok(config) => config,
        Err(error) => {
            // Whole: the fields that there are stand at its end.
            let reason = error.to_string();
            log::error("configuration").with("detail", reason).write();
            let answer = answer::misconfigured()?.into();
            return Ok(cors::open_unconfigured(answer, &incoming, &env)?.into_inner());
        }
    };
    let answer = match message::open(&incoming.fields, &config)? {
        Some((dispatch, fields)) => {
            incoming.fields = fields;
            send_courier(incoming, dispatch, env, config, &context).await
        }
        None => gate::handle(incoming, &env, &config, &context).await,
    };
    Ok(answer?.into_inner())
}

#[event(queue)]
async fn queue(batch: MessageBatch<()>, env: Env, context: Context) -> Result<()> {
    match Config::load(&env) {
        Ok(config) => {
            queues::work_off(&batch, &env, &config, &context).await;
            tally::tell_when_due(&env, &config).await;
        }
        Err(error) => {
            let line = log::error("configuration");
            line.with("detail", error.to_string()).write();
            batch.retry_all();
        }
    }
    Ok(())
}

/// The clock strikes seldom enough for the Desk to be told at once.
#[event(scheduled)]
async fn scheduled(event: ScheduledEvent, env: Env, _: ScheduleContext) {
    match Config::load(&env) {
        Ok(config) => {
            cron::fire(&event, &env, &config).await;
            tally::tell(&env, &config).await;
        }
        Err(error) => {
            let line = log::error("configuration");
            line.with("detail", error.to_string()).write();
        }
    }
}

/// Runs a courier so that it outlives the shard that called it: a shard is replaced with every deploy.
async fn send_courier(
    incoming: Incoming,
    dispatch: Dispatch,
    env: Env,
    config: std::rc::Rc<Config>,
    context: &Context,
) -> Result<Response> {
    let (sender, receiver) = oneshot::channel();
    context.wait_until(async move {
        courier::run(incoming, dispatch, &env, &config, sender).await;
        tally::tell_when_due(&env, &config).await;
    });
    receiver
        .await
        .map_err(|_| Error::from("the courier is gone"))?
}
