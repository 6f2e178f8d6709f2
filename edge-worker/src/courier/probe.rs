//! The errand of a question: what became of a key?

use oncegate_core::deadline::Deadline;
use worker::{Env, ResponseBuilder, Result};

use super::call::send;
use super::report::report;
use super::tell::tell;
use crate::config::Config;
use crate::message::{Dispatch, Probed, ToShard};
use crate::wire::{Incoming, Response};

/// Asks the origin, and tells the shard what it said. Without an answer nothing is told: the shard asks
/// again.
pub(super) async fn ask(
    incoming: &Incoming,
    dispatch: &Dispatch,
    deadline: Deadline,
    asked_ms: u64,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    if let Ok(received) = send(incoming, dispatch, deadline, env, config).await {
        let probed = report(&received, |reply| {
            ToShard::Probed(Probed {
                operation: dispatch.operation.clone(),
                asked_attempt: dispatch.attempt,
                asked_ms,
                reply,
            })
        })
        .await?;
        tell(env, config, dispatch, deadline, &probed).await?;
    }
    Ok(ResponseBuilder::new().empty().into())
}
