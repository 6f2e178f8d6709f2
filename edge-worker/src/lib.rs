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
mod gate;
mod headers;
mod message;
mod proxy;
mod shard;
mod store;
mod waiters;

use serde::Deserialize;
use worker::{Context, Env, Request, Response, Result, event};

use crate::config::Config;

/// What tells a courier's call from a client's: set by the service binding, never by a request.
#[derive(Deserialize)]
struct Props {
    role: String,
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let config = match Config::load(&env) {
        Ok(config) => config,
        Err(error) => {
            worker::console_error!("configuration: {error}");
            return answer::misconfigured(&error);
        }
    };
    if context
        .props::<Props>()
        .is_ok_and(|props| props.role == "courier")
    {
        return courier::carry(request, &env, &config).await;
    }
    gate::handle(request, &env, &config).await
}
