//! The errand of a cancellation.

use worker::{Env, Request, Response, ResponseBuilder, Result};

use super::call::send;
use super::report::report;
use super::tell::tell;
use crate::config::Config;
use crate::message::{Dispatch, Heard, ToShard};

/// Has the ledger cancel the key, and tells the shard what it said. Whatever fails on the way, the
/// shard looks at its record afterwards.
pub(super) async fn ask(
    request: Request,
    dispatch: Dispatch,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    if let Ok(received) = send(&request, &dispatch, env, config).await {
        let heard = report(&received, |reply| {
            ToShard::Hear(Heard {
                operation: dispatch.operation.clone(),
                kind: dispatch.kind,
                terms: dispatch.terms,
                asked_attempt: dispatch.attempt,
                reply,
            })
        })?;
        tell(env, config, &dispatch, &heard).await?;
    }
    Ok(ResponseBuilder::new().empty())
}
