//! What a person may do about locks: see which are held, and take one away.

use futures_util::future::try_join_all;
use oncegate_core::lock::{Fence, LockName, SHARDS};
use oncegate_core::problem::{Code, Problem};
use serde::Deserialize;
use worker::{Env, Method, Response, ResponseBuilder, Result};

use super::endpoints::name_in;
use super::message::{Listed, Said, ToLocks};
use super::{ask, shard_of};
use crate::arrived::Arrived;
use crate::config::Config;
use crate::wanted::{self, Word};
use crate::{answer, bearer, log};

/// Where they are.
pub(crate) const LOCKS: &str = "/.oncegate/v1/admin/locks";

pub(crate) async fn handle(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let secret = match bearer::name(arrived, config.admin_secrets.as_ref())? {
        Ok(secret) => secret,
        Err(problem) => return answer::problem(&problem),
    };
    match (&arrived.method, arrived.raw_path.strip_prefix(LOCKS)) {
        (Method::Get, Some("")) => {
            log::info("admin_locks").with("secret", secret).write();
            list(env, config).await
        }
        (Method::Delete, Some(_)) => match taken(arrived).await {
            Ok((name, fence, word)) => {
                log::warn("admin_lock_taken_away")
                    .with("secret", secret)
                    .with("lock", name.as_str())
                    .with("fence", fence)
                    .with("actor", &word.actor)
                    .with("reason", &word.reason)
                    .write();
                take_away(&name, fence, env, config).await
            }
            Err(problem) => answer::problem(&problem),
        },
        _ => answer::problem(&Problem::new(Code::EndpointUnknown)),
    }
}

/// Every shard is asked: what each knows is the whole truth about its locks.
async fn list(env: &Env, config: &Config) -> Result<Response> {
    let asked = (0..SHARDS).map(|shard| ask(env, config, shard, &ToLocks::List, 0));
    let Ok(said) = try_join_all(asked).await else {
        return unavailable();
    };
    let held = said.into_iter().filter_map(|said| match said {
        Said::Held(held) => Some(held),
        _ => None,
    });
    let mut held: Vec<Listed> = held.flatten().collect();
    held.sort_by_key(|lock| std::cmp::Reverse(lock.held_for_ms));
    ResponseBuilder::new()
        .with_header("cache-control", "no-store")?
        .from_json(&serde_json::json!({ "locks": held }))
}

async fn taken(arrived: &Arrived) -> std::result::Result<(LockName, Fence, Word), Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        fence: Fence,
    }
    let name = name_in(arrived, &format!("{LOCKS}/"))?;
    let (wanted, word) = wanted::by_person::<Wanted>(arrived)
        .await
        .map_err(|reason| Problem::new(Code::RequestInvalid).because(reason))?;
    Ok((name, wanted.fence, word))
}

async fn take_away(name: &LockName, fence: Fence, env: &Env, config: &Config) -> Result<Response> {
    let message = ToLocks::TakeAway {
        name: name.as_str().to_owned(),
        fence,
    };
    match ask(env, config, shard_of(config, name), &message, 0).await {
        Ok(Said::Did) => Ok(ResponseBuilder::new().with_status(204).empty()),
        Ok(_) => {
            let reason = "nobody has this lock under this fence";
            answer::problem(&Problem::new(Code::ResolutionRefused).because(reason))
        }
        Err(_) => unavailable(),
    }
}

fn unavailable() -> Result<Response> {
    answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))
}
