//! The errand of a cancellation.

use oncegate_core::deadline::Deadline;
use oncegate_core::principal::Principal;
use worker::{Env, ResponseBuilder, Result};

use super::call::send;
use super::report::report;
use super::tell::tell;
use crate::config::Config;
use crate::message::{Dispatch, Heard, ToShard};
use crate::wire::{Incoming, Response};

/// Who wants a key to be cancelled, and since when.
pub(super) struct Asker {
    pub(super) principal: Option<Principal>,
    pub(super) asked_ms: u64,
}

/// Has the ledger cancel the key, and tells the shard what it said. Whatever fails on the way, the
/// shard looks at its record afterwards.
pub(super) async fn ask(
    incoming: &Incoming,
    dispatch: &Dispatch,
    deadline: Deadline,
    asker: Asker,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    if let Ok(received) = send(incoming, dispatch, deadline, env, config).await {
        let heard = report(&received, |reply| {
            ToShard::Hear(Heard {
                operation: dispatch.operation.clone(),
                kind: dispatch.kind,
                principal: asker.principal,
                terms: dispatch.terms.clone(),
                asked_attempt: dispatch.attempt,
                asked_ms: asker.asked_ms,
                reply,
            })
        })
        .await?;
        tell(env, config, dispatch, deadline, &heard).await?;
    }
    Ok(ResponseBuilder::new().empty().into())
}
