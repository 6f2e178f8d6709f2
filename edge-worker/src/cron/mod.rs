//! Jobs that the clock starts: each slot is an operation like all others.
//!
//! Invariant: a slot is carried to the origin by the engine only, under its own key, however often it
//! fires; nothing here remembers anything. Whose keys they are no client can be: a host has no `|`.
//!
//! | module | part |
//! | --- | --- |
//! | `run` | one slot, through its shard |
//! | `admin` | a run that a person wants, under a name |

pub(crate) mod admin;
mod run;

use std::rc::Rc;

use futures_util::future::join_all;
use oncegate_core::cron::{Job, Slot};
use oncegate_core::switch::Switch;
use worker::{Env, ScheduledEvent};

use self::run::Run;
use crate::config::Config;
use crate::platform::now_ms;
use crate::{log, switch};

/// Runs every job of the trigger that has fired, side by side.
pub(crate) async fn fire(event: &ScheduledEvent, env: &Env, config: &Rc<Config>) {
    let slot = Slot::of_ms(event.schedule() as u64);
    let trigger = event.cron();
    let is_fired = |job: &&Job| job.trigger == trigger;
    let jobs: Vec<&Job> = config.jobs.iter().filter(is_fired).collect();
    if jobs.is_empty() {
        let line = log::error("cron").with("trigger", &trigger);
        line.detail("no job has this trigger").write();
        return;
    }
    let switch = switch::asked(env, config).await;
    join_all(
        jobs.into_iter()
            .map(|job| of_job(job, slot, &switch, env, config)),
    )
    .await;
}

/// Runs what is due of a job: first what earlier firings have left, the oldest first, then its slot.
async fn of_job(job: &Job, slot: Slot, switch: &Switch, env: &Env, config: &Config) {
    let now_ms = now_ms();
    let earlier = job.before(slot, now_ms);
    let known = join_all(earlier.iter().map(async |earlier| {
        let known = Run::of(job, earlier.slot, None, config)
            .state(env, config)
            .await;
        (earlier, known)
    }));
    for (earlier, known) in known.await {
        match known {
            Ok(state) if earlier.is_due(state) => {
                one(job, earlier.slot, switch, env, config).await;
            }
            Ok(_) => {}
            Err(error) => failed(job, earlier.slot, error),
        }
    }
    match job.takes(slot, now_ms) {
        true => one(job, slot, switch, env, config).await,
        false => line(log::warn("cron"), job, slot)
            .detail("the slot is not the job's, or too old to be begun")
            .write(),
    }
}

/// Runs a slot. What fails here is tried again by the next firing.
async fn one(job: &Job, slot: Slot, switch: &Switch, env: &Env, config: &Config) {
    match Run::of(job, slot, None, config)
        .answer(switch, env, config)
        .await
    {
        Ok(ran) => ran.log().write(),
        Err(error) => failed(job, slot, error),
    }
}

fn failed(job: &Job, slot: Slot, error: worker::Error) {
    line(log::error("cron"), job, slot).detail(error).write();
}

/// Names the slot.
fn line(line: log::Line, job: &Job, slot: Slot) -> log::Line {
    let line = line.with("job", job.name.as_str());
    line.with("slot", slot.to_string())
}
