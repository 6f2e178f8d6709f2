//! A run that a person wants: of one slot, under a name. The same name twice is one run.

use oncegate_core::cron::{Job, Name, Slot};
use oncegate_core::problem::{Code, Problem};
use serde::Deserialize;
use worker::{Env, Method, Response, ResponseBuilder, Result};

use super::run::Run;
use crate::arrived::Arrived;
use crate::config::Config;
use crate::platform::now_ms;
use crate::wanted::{self, Word};
use crate::{answer, bearer, switch};

/// Where jobs are run.
pub(crate) const CRON: &str = "/.oncegate/v1/admin/cron/";

/// What a person wants.
struct Asked<'a> {
    job: &'a Job,
    slot: Slot,
    name: Name,
    word: Word,
}

pub(crate) async fn handle(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let secret = match bearer::name(arrived, config.admin_secrets.as_ref())? {
        Ok(secret) => secret,
        Err(problem) => return answer::problem(&problem),
    };
    let asked = match asked(arrived, config).await {
        Ok(asked) => asked,
        Err(problem) => return answer::problem(&problem),
    };
    let switch = switch::asked(env, config).await;
    let run = Run::of(asked.job, asked.slot, Some(&asked.name), config);
    let ran = run.answer(&switch, env, config).await?;
    ran.log()
        .with("secret", secret)
        .with("actor", &asked.word.actor)
        .with("reason", &asked.word.reason)
        .write();
    ResponseBuilder::new()
        .with_header("cache-control", "no-store")?
        .from_json(&ran.told)
}

async fn asked<'a>(
    arrived: &Arrived,
    config: &'a Config,
) -> std::result::Result<Asked<'a>, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        slot: String,
        name: String,
    }
    let path = arrived.raw_path.strip_prefix(CRON).unwrap_or_default();
    let (Method::Post, Some(job)) = (&arrived.method, path.strip_suffix("/run")) else {
        return Err(Problem::new(Code::EndpointUnknown));
    };
    let mut jobs = config.jobs.iter();
    let job = jobs.find(|known| known.name.as_str() == job);
    let job = job.ok_or_else(|| invalid("no job has this name"))?;
    let read = wanted::by_person::<Wanted>(arrived).await;
    let (wanted, word) = read.map_err(|reason| invalid(&reason))?;
    let slot = Slot::parse(&wanted.slot).filter(|slot| slot.at_ms() <= now_ms());
    Ok(Asked {
        job,
        slot: slot
            .ok_or_else(|| invalid("slot is a minute in UTC that has begun: 2026-11-30T03:00Z"))?,
        name: Name::parse(&wanted.name).map_err(|reason| invalid(&format!("name {reason}")))?,
        word,
    })
}

fn invalid(reason: &str) -> Problem {
    Problem::new(Code::RequestInvalid).because(reason)
}
