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

mod answer;
mod body;
mod config;
mod courier;
mod endpoints;
mod errand;
mod gate;
mod headers;
mod message;
mod proxy;
mod shard;
mod store;
mod waiters;

use worker::{Context, Env, Request, Response, Result, event};

use crate::config::Config;

#[event(fetch)]
async fn fetch(request: Request, env: Env, _: Context) -> Result<Response> {
    let config = match Config::load(&env) {
        Ok(config) => config,
        Err(error) => {
            worker::console_error!("configuration: {error}");
            return answer::misconfigured(&error);
        }
    };
    match message::open(request.headers(), &config)? {
        Some(dispatch) => courier::run(request, dispatch, &env, &config).await,
        None => gate::handle(request, &env, &config).await,
    }
}
