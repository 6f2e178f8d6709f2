//! A run that a person wants: of one slot, under a name. The same name twice is one run. And which operation a run is.

use oncegate_core::cron::{Name, Slot};
use oncegate_core::identity::Identity;
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
    run: Run<'a>,
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
    let ran = asked.run.answer(&switch, env, config).await?;
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
    let read = wanted::by_person::<Wanted>(arrived).await;
    let (wanted, word) = read.map_err(|reason| invalid(&reason))?;
    let run = named(job, &wanted.slot, Some(&wanted.name), config)?;
    Ok(Asked { run, word })
}

/// The operation that a slot of a job is, or with a name a run of it that a person wanted.
pub(crate) fn operation(
    job: &str,
    slot: &str,
    name: Option<&str>,
    config: &Config,
) -> std::result::Result<Identity, Problem> {
    Ok(named(job, slot, name, config)?.operation)
}

fn named<'a>(
    job: &str,
    slot: &str,
    name: Option<&str>,
    config: &'a Config,
) -> std::result::Result<Run<'a>, Problem> {
    let mut jobs = config.jobs.iter();
    let job = jobs.find(|known| known.name.as_str() == job);
    let job = job.ok_or_else(|| invalid("no job has this name"))?;
    let slot = Slot::parse(slot).filter(|slot| slot.at_ms() <= now_ms());
    let slot =
        slot.ok_or_else(|| invalid("slot is a minute in UTC that has begun: 2026-11-30T03:00Z"))?;
    let name = name.map(Name::parse).transpose();
    let name = name.map_err(|reason| invalid(&format!("name {reason}")))?;
    Ok(Run::of(job, slot, name, config))
}

fn invalid(reason: &str) -> Problem {
    Problem::new(Code::RequestInvalid).because(reason)
}
