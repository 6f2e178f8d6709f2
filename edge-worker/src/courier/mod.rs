//! A courier carries one attempt to the origin and brings the reply to the shard.
//!
//! It is this Worker, called by the shard through a service binding with a stamped message: it ends
//! neither when the client leaves nor when the shard is replaced. Decisions are the shard's: the
//! answer leaves only after the shard has written what it proves (rule I2).
//!
//! | module | part |
//! | --- | --- |
//! | `call` | the one hand-over to the origin |
//! | `carry`, `cancel`, `probe` | the errands |
//! | `keep` | what is kept of an answer |
//! | `passing` | an answer that is passed on as it comes |
//! | `report` | what the shard is told of a reply |
//! | `tell` | telling it until it has heard |

mod call;
mod cancel;
mod carry;
mod keep;
mod passing;
mod probe;
mod report;
mod tell;

use futures_channel::oneshot;
use oncegate_core::deadline::Deadline;
use worker::{Env, Result};

use self::carry::Carried;
use crate::config::Config;
use crate::log;
use crate::message::{Dispatch, Errand};
use crate::platform::now_ms;
use crate::wire::{Incoming, Response};

/// Set on the answer to a shard if the record's answer counts and not this one.
pub(crate) const SUPERSEDED: &str = "oncegate-superseded";

/// Runs an errand. The answer goes to `asker` as soon as there is one; an answer that is passed on has
/// more to come then.
pub(crate) async fn run(
    incoming: Incoming,
    dispatch: Dispatch,
    env: &Env,
    config: &Config,
    asker: oneshot::Sender<Result<Response>>,
) {
    let deadline = Deadline::begin(now_ms());
    let (response, rest) = match errand(incoming, &dispatch, deadline, env, config).await {
        Ok(carried) => (Ok(carried.response), carried.rest),
        Err(error) => (Err(error), None),
    };
    // The shard may be gone; the record has the answer.
    if let Err(Ok(unwanted)) = asker.send(response) {
        unwanted.discard();
    }
    if let Some(rest) = rest
        && let Err(error) = carry::finish(rest, &dispatch, deadline, env, config).await
    {
        let line = tell::line(log::error("answer_not_finished"), &dispatch);
        line.detail(error).write();
    }
}

async fn errand(
    incoming: Incoming,
    dispatch: &Dispatch,
    deadline: Deadline,
    env: &Env,
    config: &Config,
) -> Result<Carried> {
    match dispatch.errand {
        Errand::Attempt => carry::attempt(&incoming, dispatch, deadline, env, config).await,
        Errand::Cancel {
            principal,
            asked_ms,
        } => {
            let asker = cancel::Asker {
                principal,
                asked_ms,
            };
            let answer = cancel::ask(&incoming, dispatch, deadline, asker, env, config).await;
            answer.map(Carried::whole)
        }
        Errand::Probe { asked_ms } => {
            let answer = probe::ask(&incoming, dispatch, deadline, asked_ms, env, config).await;
            answer.map(Carried::whole)
        }
    }
}
