//! Telling a shard what came of an errand, until it has heard.

use oncegate_core::deadline::Deadline;
use std::time::Duration;

use oncegate_core::identity::Identity;
use oncegate_core::policy::STORE_DEADLINE_MS;
use worker::{Delay, Env, Error, Result};

use crate::config::Config;
use crate::log::{self, Line};
use crate::message::Dispatch;
use crate::platform::now_ms;
use crate::shards::{self, ShardRequest};
use crate::wire::{self, Response};

/// The pauses before the shard is told again, in milliseconds; the last one is repeated as long as a
/// reply is worth telling. A shard that is being replaced is back within seconds, one that is
/// overloaded may take longer, and what the origin said is nowhere else.
const TELL_AGAIN_MS: [u64; 6] = [100, 500, 2_000, 5_000, 10_000, 30_000];

/// Tells the shard until it has heard; `None` if it never does.
pub(super) async fn tell(
    env: &Env,
    config: &Config,
    dispatch: &Dispatch,
    deadline: Deadline,
    message: &ShardRequest,
) -> Result<Option<Response>> {
    let operation = Identity::parse(&dispatch.operation)
        .ok_or_else(|| Error::from("a dispatch without an operation"))?;
    let call = message.build()?;
    let mut pauses = TELL_AGAIN_MS.iter();
    let mut pause_ms = 0;
    while !deadline.is_over(now_ms()) {
        let stub = shards::stub(env, config, &operation)?;
        let told = wire::call_within(STORE_DEADLINE_MS, &stub, &call).await;
        shards::count(&operation, &told, |response| response.status_code() == 200);
        match told {
            Some(Ok(response)) if response.status_code() == 200 => return Ok(Some(response)),
            fault => {
                let line = line(log::warn("tell_shard"), dispatch);
                line.detail(shards::why(&fault)).write();
            }
        }
        pause_ms = *pauses.next().unwrap_or(&pause_ms);
        Delay::from(Duration::from_millis(pause_ms)).await;
    }
    line(log::error("tell_shard_given_up"), dispatch).write();
    Ok(None)
}

/// Says in the log which attempt it is about.
pub(super) fn line(line: Line, dispatch: &Dispatch) -> Line {
    let line = line.with("route", &dispatch.terms.route);
    line.operation(&dispatch.operation)
        .attempt(dispatch.attempt)
}
