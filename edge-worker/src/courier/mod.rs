//! A courier carries one attempt to the origin and brings the reply to the shard.
//!
//! It is this Worker, called by the shard through a service binding with a sealed message: it ends
//! neither when the client leaves nor when the shard is replaced. Decisions are the shard's: the
//! answer leaves only after the shard has written what it proves (rule I2).
//!
//! | module | part |
//! | --- | --- |
//! | `call` | the one hand-over to the origin |
//! | `carry`, `cancel` | the errands |
//! | `report` | what the shard is told of a reply |
//! | `tell` | telling it until it has heard |

mod call;
mod cancel;
mod carry;
mod report;
mod tell;

use worker::{Env, Request, Response, Result};

use crate::config::Config;
use crate::message::{Dispatch, Errand};

/// Set on the answer to a shard if the record's answer counts and not this one.
pub(crate) const SUPERSEDED: &str = "oncegate-superseded";

pub(crate) async fn run(
    request: Request,
    dispatch: Dispatch,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    match dispatch.errand {
        Errand::Attempt => carry::attempt(request, dispatch, env, config).await,
        Errand::Cancel {
            principal,
            asked_ms,
        } => {
            let asker = cancel::Asker {
                principal,
                asked_ms,
            };
            cancel::ask(request, dispatch, asker, env, config).await
        }
    }
}
