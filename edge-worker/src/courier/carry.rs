//! The errand of an attempt: to the origin, to the shard with what it proves, and back.

use oncegate_core::problem::{Code, Problem};
use worker::{Date, Env, Request, Response, ResponseBuilder, Result};

use super::SUPERSEDED;
use super::call::{LAST_STATUS, Lost, Received, send};
use super::report::report;
use super::tell::tell;
use crate::answer::{self, Mark};
use crate::config::Config;
use crate::message::{Completed, Completion, Dispatch, Reply, ToShard};
use crate::shards::ShardRequest;
use crate::{body, headers};

pub(super) async fn attempt(
    request: Request,
    dispatch: Dispatch,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    let received = send(&request, &dispatch, env, config).await;
    let completion = completion(&dispatch, &received)?;
    let Some(mut told) = tell(env, config, &dispatch, &completion).await? else {
        return answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000));
    };
    let completed: Completed = told.json().await?;
    if completed.superseded {
        return Ok(ResponseBuilder::new()
            .with_header(SUPERSEDED, "true")?
            .empty());
    }
    let mark = Mark::new(&dispatch.operation, &dispatch.terms);
    match received {
        Ok(received) if received.status > LAST_STATUS => {
            mark.impassable(Date::now().as_millis(), &completed.view)
        }
        Ok(received) => {
            let headers = headers::towards_client(&received.headers)?;
            mark.put(&headers, completed.view.state.status())?;
            body::response(received.status, &headers, Some(&received.body))
        }
        Err(lost) => {
            let status = if matches!(lost, Lost::TimedOut) {
                504
            } else {
                502
            };
            mark.lost(Date::now().as_millis(), status, &completed.view)
        }
    }
}

/// What the shard is told of an attempt.
fn completion(
    dispatch: &Dispatch,
    received: &std::result::Result<Received, Lost>,
) -> Result<ShardRequest> {
    let complete = |reply| {
        ToShard::Complete(Completion {
            operation: dispatch.operation.clone(),
            attempt: dispatch.attempt,
            reply,
        })
    };
    match received {
        Ok(received) => report(received, complete),
        Err(_) => ShardRequest::message(&complete(Reply::Lost)),
    }
}
