//! `POST`, `PUT` and `DELETE locks/{name}`: take, renew, release.

use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::key::Key;
use oncegate_core::lock::{Asker, LockName, Owner, Ttl, Wait};
use oncegate_core::policy::named_key;
use oncegate_core::problem::{Code, Problem};
use serde::Deserialize;
use worker::{Env, Method, Response, ResponseBuilder, Result};

use super::message::{Acquire, Said, ToLocks};
use super::{ask, shard_of};
use crate::arrived::Arrived;
use crate::config::Config;
use crate::platform::now_ms;
use crate::{answer, bearer, tally, wanted};

/// Where they are.
pub(crate) const LOCKS: &str = "/.oncegate/v1/locks/";

/// How the events name them: no route is called so.
const EVENTS: &str = "/locks";

/// How soon who waits may ask again, in milliseconds: at once, since it is the gate that waits.
const AGAIN_MS: u64 = 0;

/// How soon one that was turned away without a place may.
const LATER_MS: u64 = 1_000;

/// What the body of a call says.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    ttl_ms: Option<u64>,
    wait_ms: Option<u64>,
}

/// A call that was understood.
struct Asked {
    name: LockName,
    message: ToLocks,
    /// How it is told if it goes well.
    decision: &'static str,
    wait_ms: u64,
}

pub(crate) async fn handle(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    if let Err(problem) = bearer::name(arrived, config.locks_secrets.as_ref())? {
        return answer::problem(&problem);
    }
    let began_ms = now_ms();
    let answered = match asked(arrived, config).await {
        Ok(asked) => said(asked, began_ms, env, config).await?,
        Err(problem) => answer::problem(&problem)?,
    };
    let answered = answered.into();
    tally::decided(EVENTS, "enforce", &answered, began_ms);
    Ok(answered.into())
}

async fn asked(arrived: &Arrived, config: &Config) -> std::result::Result<Asked, Problem> {
    let name = name_in(arrived, LOCKS)?;
    match arrived.method {
        Method::Post => acquire(name, arrived, config).await,
        Method::Put => renew(name, arrived).await,
        Method::Delete => end(name, arrived, config),
        _ => Err(Problem::new(Code::EndpointUnknown)),
    }
}

/// The lock that a path names.
pub(super) fn name_in(arrived: &Arrived, prefix: &str) -> std::result::Result<LockName, Problem> {
    let name = arrived.raw_path.strip_prefix(prefix).unwrap_or_default();
    LockName::parse(name).map_err(invalid)
}

async fn acquire(
    name: LockName,
    arrived: &Arrived,
    config: &Config,
) -> std::result::Result<Asked, Problem> {
    let asker = asker(&name, arrived, config)?;
    let wanted = wanted(arrived).await?;
    let ttl = Ttl::parse(wanted.ttl_ms).map_err(invalid)?;
    let wait = Wait::parse(wanted.wait_ms).map_err(invalid)?;
    Ok(Asked {
        message: ToLocks::Acquire(Acquire {
            name: name.as_str().to_owned(),
            asker,
            ttl_ms: ttl.as_ms(),
            wait_ms: wait.as_ms(),
            place: arrived.fields.get(header::PLACE).map(str::to_owned),
            since_ms: None,
        }),
        name,
        decision: "acquired",
        wait_ms: wait.as_ms(),
    })
}

async fn renew(name: LockName, arrived: &Arrived) -> std::result::Result<Asked, Problem> {
    let owner = owner(arrived)?;
    let wanted = wanted(arrived).await?;
    if wanted.wait_ms.is_some() {
        return Err(invalid("nobody waits for a renewal: no `wait_ms`"));
    }
    if let Some(ttl_ms) = wanted.ttl_ms {
        Ttl::parse(Some(ttl_ms)).map_err(invalid)?;
    }
    Ok(Asked {
        message: ToLocks::Renew {
            name: name.as_str().to_owned(),
            owner,
            ttl_ms: wanted.ttl_ms,
        },
        name,
        decision: "renewed",
        wait_ms: 0,
    })
}

/// By its owner; or by who has asked for it and has heard nothing, or does not want it any more.
fn end(name: LockName, arrived: &Arrived, config: &Config) -> std::result::Result<Asked, Problem> {
    let text = name.as_str().to_owned();
    let (message, decision) = match arrived.fields.get(header::OWNER) {
        Some(_) => {
            let owner = owner(arrived)?;
            (ToLocks::Release { name: text, owner }, "released")
        }
        None => {
            let asker = asker(&name, arrived, config)?;
            (ToLocks::CallOff { name: text, asker }, "called_off")
        }
    };
    Ok(Asked {
        name,
        message,
        decision,
        wait_ms: 0,
    })
}

/// Asks the lock's object. One that fails is asked a second time, and who has waited there stands where it
/// stood.
async fn said(mut asked: Asked, began_ms: u64, env: &Env, config: &Config) -> Result<Response> {
    let shard = shard_of(config, &asked.name);
    let mut said = ask(env, config, shard, &asked.message, asked.wait_ms).await;
    if said.is_err() {
        let waited_ms = now_ms().saturating_sub(began_ms);
        let left_ms = asked.wait_ms.saturating_sub(waited_ms);
        if let ToLocks::Acquire(acquire) = &mut asked.message {
            acquire.wait_ms = left_ms;
            acquire.since_ms = Some(began_ms);
        }
        said = ask(env, config, shard, &asked.message, left_ms).await;
    }
    answer(said, asked.decision)
}

fn answer(said: Result<Said>, decision: &str) -> Result<Response> {
    let problem = match said {
        Ok(Said::Granted(grant)) => return told(decision)?.from_json(&grant),
        Ok(Said::Did) => return Ok(told(decision)?.with_status(204).empty()),
        Ok(Said::Busy(Some(place))) => {
            let busy = Problem::new(Code::LockBusy).retry_after(AGAIN_MS);
            let response = answer::problem(&busy)?;
            response.headers().set(header::PLACE, &place)?;
            return Ok(response);
        }
        Ok(Said::Busy(None)) => Problem::new(Code::LockBusy).retry_after(LATER_MS),
        Ok(Said::Done) => Problem::new(Code::LockDone),
        Ok(Said::Lost) => Problem::new(Code::LockLost),
        Ok(Said::Held(_)) | Err(_) => Problem::new(Code::GateUnavailable).retry_after(LATER_MS),
    };
    answer::problem(&problem)
}

fn told(decision: &str) -> Result<ResponseBuilder> {
    ResponseBuilder::new()
        .with_header("cache-control", "no-store")?
        .with_header(header::DECISION, decision)
}

fn asker(
    name: &LockName,
    arrived: &Arrived,
    config: &Config,
) -> std::result::Result<Asker, Problem> {
    let names = [header::IDEMPOTENCY_KEY.to_owned()];
    let key: Option<Key> =
        named_key(&arrived.headers_of(&names)).map_err(|fault| Problem::from(&fault))?;
    let key = key.ok_or_else(|| {
        Problem::new(Code::KeyMissing)
            .because("a request for a lock names itself, so that asking again gives the same lock")
    })?;
    let secret = config.identity_secret.as_bytes();
    let request = Identity::of_lock_request(secret, name, &key);
    Ok(Asker::new(*request.as_bytes()))
}

fn owner(arrived: &Arrived) -> std::result::Result<Owner, Problem> {
    let owner = Owner::parse(arrived.header(header::OWNER));
    owner
        .ok_or_else(|| invalid("`Oncegate-Owner` is the `owner` that you were given with the lock"))
}

async fn wanted(arrived: &Arrived) -> std::result::Result<Wanted, Problem> {
    wanted::read_if_any(arrived).await.map_err(invalid)
}

fn invalid(reason: impl std::fmt::Display) -> Problem {
    Problem::new(Code::RequestInvalid).because(reason)
}
