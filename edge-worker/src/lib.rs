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
mod config;
mod cors;
mod courier;
mod desk;
mod endpoints;
mod errand;
mod fields;
mod gate;
mod headers;
mod jwt;
mod log;
mod loops;
mod message;
mod observe;
mod origins;
mod pace;
mod protect;
mod proxy;
mod refusal;
mod sealing;
mod shard;
mod shards;
mod store;
mod switch;
mod tally;
mod waiters;
mod wanted;
mod web_crypto;
mod wire;

use futures_channel::oneshot;
use worker::{Context, Env, Error, Request, Response, Result, event};

use crate::config::Config;
use crate::message::Dispatch;

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let config = match Config::load(&env) {
        Ok(config) => config,
        Err(error) => {
            // Whole: the fields that there are stand at its end.
            let reason = error.to_string();
            log::error("configuration").with("detail", reason).write();
            return cors::open_unconfigured(answer::misconfigured()?, &request, &env);
        }
    };
    match message::open(request.headers(), &config)? {
        Some(dispatch) => send_courier(request, dispatch, env, config, &context).await,
        None => gate::handle(request, &env, &config, &context).await,
    }
}

/// Runs a courier so that it outlives the shard that called it: a shard is replaced with every deploy.
async fn send_courier(
    request: Request,
    dispatch: Dispatch,
    env: Env,
    config: std::rc::Rc<Config>,
    context: &Context,
) -> Result<Response> {
    let (sender, receiver) = oneshot::channel();
    context.wait_until(async move {
        courier::run(request, dispatch, &env, &config, sender).await;
        tally::tell_when_due(&env, &config).await;
    });
    receiver
        .await
        .map_err(|_| Error::from("the courier is gone"))?
}
