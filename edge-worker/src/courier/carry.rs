//! The errand of an attempt: to the origin, to the shard with what it proves, and back.

use oncegate_core::deadline::Deadline;
use oncegate_core::outcome::Status;
use oncegate_core::problem::{Code, Problem};
use worker::{Env, Result};

use super::SUPERSEDED;
use super::call::{Body, Head, Lost, Received, send};
use super::passing::{Client, Passing};
use super::report::{reply, report};
use super::tell::{line, tell};
use crate::answer::{self, Mark};
use crate::config::Config;
use crate::fields::Fields;
use crate::message::{Begun, Completed, Completion, Dispatch, Reply, ToShard};
use crate::platform::now_ms;
use crate::shards::{ShardRequest, within};
use crate::wire::{Incoming, Response};
use crate::{body, log, tally};

/// What an attempt has brought.
pub(super) struct Carried {
    /// For the one whose attempt it was.
    pub(super) response: Response,
    /// What is still to come of an answer that is passed on.
    pub(super) rest: Option<Rest>,
}

/// The rest of an answer that is passed on.
pub(super) struct Rest {
    passing: Passing,
    client: Client,
    /// What the answer proves if it comes whole.
    reply: Reply,
}

pub(super) async fn attempt(
    incoming: &Incoming,
    dispatch: &Dispatch,
    deadline: Deadline,
    env: &Env,
    config: &Config,
) -> Result<Carried> {
    match send(incoming, dispatch, deadline, env, config).await {
        Ok(Received {
            head,
            body: Body::Passing(passing),
            keep,
        }) => {
            let reply = reply(&head, &keep, None);
            begin(head, passing, reply, dispatch, deadline, env, config).await
        }
        received => bring(received, dispatch, deadline, env, config)
            .await
            .map(Carried::whole),
    }
}

/// An answer that is whole, or none.
async fn bring(
    received: std::result::Result<Received, Lost>,
    dispatch: &Dispatch,
    deadline: Deadline,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    let completion = match &received {
        Ok(received) => report(received, |reply| complete(dispatch, reply)).await?,
        Err(_) => ShardRequest::message(&complete(dispatch, Reply::Lost))?,
    };
    let Some(told) = tell(env, config, dispatch, deadline, &completion).await? else {
        return unavailable();
    };
    let completed: Completed = told.read().await?;
    tally::rows_written(completed.rows_written);
    if completed.superseded {
        return superseded();
    }
    let mark = Mark::new(&dispatch.operation, dispatch.kind, &dispatch.terms);
    match received {
        Ok(Received { head, .. }) if head.status > body::LAST_STATUS => {
            Ok(mark.impassable(now_ms(), &completed.view)?.into())
        }
        Ok(Received {
            head,
            body: Body::Whole(bytes),
            keep,
        }) => {
            let mut fields = head.passed;
            mark.put(&mut fields, completed.view.state.status());
            keep.mark(&mut fields, &bytes, completed.remember_ms);
            body::response(head.status, &fields, Some(&bytes))
        }
        lost => {
            let status = if matches!(lost, Err(Lost::TimedOut)) {
                504
            } else {
                502
            };
            Ok(mark.lost(now_ms(), status, &completed.view)?.into())
        }
    }
}

/// An answer that is passed on: the shard hears of it before the first byte leaves (rule P6).
async fn begin(
    head: Head,
    passing: Passing,
    reply: Reply,
    dispatch: &Dispatch,
    deadline: Deadline,
    env: &Env,
    config: &Config,
) -> Result<Carried> {
    let begin = ToShard::Begin(completion(dispatch, reply.clone()));
    let told = tell(
        env,
        config,
        dispatch,
        deadline,
        &ShardRequest::message(&begin)?,
    )
    .await?;
    let Some(told) = told else {
        return unavailable().map(Carried::whole);
    };
    let begun: Begun = told.read().await?;
    let (response, client) = if begun.superseded {
        (superseded()?, Client::NONE)
    } else {
        let mut fields = head.passed;
        let status = Status::parse(&begun.status).unwrap_or(Status::Unknown);
        Mark::new(&dispatch.operation, dispatch.kind, &dispatch.terms).put(&mut fields, status);
        let (stream, client) = passing.open()?;
        (Response::new(head.status, &fields, Some(&stream))?, client)
    };
    let rest = Rest {
        passing,
        client,
        reply,
    };
    Ok(Carried {
        response,
        rest: Some(rest),
    })
}

/// How long a client waits for the end of its answer while the shard cannot be told of it, in
/// milliseconds.
const RECORDED_WITHIN_MS: u64 = 60_000;

/// Passes the rest of an answer on, and tells the shard how it ended. The client gets the end when the
/// record has it (rule I2): as long as it has not, what the head says may still be taken back.
pub(super) async fn finish(
    rest: Rest,
    dispatch: &Dispatch,
    deadline: Deadline,
    env: &Env,
    config: &Config,
) -> Result<()> {
    let Rest {
        passing,
        mut client,
        reply,
    } = rest;
    let last = match within(
        deadline.listening_ms(now_ms()),
        passing.pass_to(&mut client),
    )
    .await
    {
        Some(Ok(last)) => Some(last),
        Some(Err(error)) => {
            let line = line(log::warn("answer_broke_off"), dispatch);
            line.detail(error).write();
            None
        }
        None => None,
    };
    if last.is_none() {
        client.leave();
    }
    let reply = last.as_ref().map_or(Reply::Lost, |_| reply);
    let mut recording = Box::pin(record(reply, dispatch, deadline, env, config));
    match (within(RECORDED_WITHIN_MS, recording.as_mut()).await, last) {
        (Some(Ok(true)), Some(last)) => client.end(last).await,
        (Some(recorded), _) => drop(recorded?),
        (None, _) => {
            client.leave();
            recording.await?;
        }
    }
    Ok(())
}

/// Whether the shard has written down how an answer ended that was passed on.
async fn record(
    reply: Reply,
    dispatch: &Dispatch,
    deadline: Deadline,
    env: &Env,
    config: &Config,
) -> Result<bool> {
    let completion = ShardRequest::message(&complete(dispatch, reply))?;
    let Some(told) = tell(env, config, dispatch, deadline, &completion).await? else {
        return Ok(false);
    };
    let completed: Completed = told.read().await?;
    tally::rows_written(completed.rows_written);
    Ok(true)
}

impl Carried {
    pub(super) fn whole(response: Response) -> Self {
        Self {
            response,
            rest: None,
        }
    }
}

fn complete(dispatch: &Dispatch, reply: Reply) -> ToShard {
    ToShard::Complete(completion(dispatch, reply))
}

fn completion(dispatch: &Dispatch, reply: Reply) -> Completion {
    Completion {
        operation: dispatch.operation.clone(),
        attempt: dispatch.attempt,
        reply,
    }
}

fn superseded() -> Result<Response> {
    let mut fields = Fields::default();
    fields.set(SUPERSEDED, "true");
    Response::new(200, &fields, None)
}

fn unavailable() -> Result<Response> {
    Ok(answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))?.into())
}
