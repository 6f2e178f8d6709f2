//! One slot, through its shard: what is known of it, and the call that it makes.

use js_sys::Uint8Array;
use oncegate_core::cron::{Job, Name, Slot};
use oncegate_core::identity::Identity;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::operation::State;
use oncegate_core::outcome::Status;
use oncegate_core::policy::Route;
use oncegate_core::recent::Question;
use oncegate_core::switch::{Mode, Switch};
use serde::Serialize;
use worker::{Env, Error, Result};

use super::line;
use crate::config::Config;
use crate::log::{self, Line};
use crate::message::{Look, Seen, ToShard};
use crate::platform::now_ms;
use crate::protect::{Claiming, Request};
use crate::{gate, shards, tally};

/// Whose the keys of slots are.
const SCOPE: &str = "cron|";

/// One run of a slot: by the clock, or deliberate.
pub(super) struct Run<'a> {
    job: &'a Job,
    slot: Slot,
    name: Option<Name>,
    key: Key,
    pub(super) operation: Identity,
}

/// What became of it.
pub(super) struct Ran<'a> {
    run: Run<'a>,
    pub(super) told: Told,
}

/// The same, for whoever asked.
#[derive(Serialize)]
pub(super) struct Told {
    operation: String,
    /// As `Idempotency-Status` says it; `None` if nothing is known.
    state: Option<&'static str>,
    /// What was answered, if it was.
    status: Option<u16>,
}

/// The body of the call.
#[derive(Serialize)]
struct Body<'a> {
    job: &'a str,
    slot: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
}

impl<'a> Run<'a> {
    pub(super) fn of(job: &'a Job, slot: Slot, name: Option<Name>, config: &Config) -> Self {
        let key = job.key(slot, name.as_ref());
        let secret = config.identity_secret.as_bytes();
        Self {
            operation: Identity::of_generated(secret, SCOPE, &job.route, &key),
            job,
            slot,
            name,
            key,
        }
    }

    /// What is known of it; written is at most that it is in trouble.
    pub(super) async fn state(&self, env: &Env, config: &Config) -> Result<Option<State>> {
        let look = ToShard::Look(Look {
            operation: self.operation.reference(),
            principal: None,
        });
        let mut answer = shards::ask(env, config, &self.operation, &look).await?;
        if answer.status_code() != 200 {
            return Err(Error::from("what is known of the slot cannot be told now"));
        }
        let seen: Seen = answer.json().await?;
        match seen.state.as_str() {
            "absent" => Ok(None),
            state => Ok(Some(serde_json::from_value(state.into())?)),
        }
    }

    /// Runs it, or hears what became of it.
    pub(super) async fn answer(
        self,
        switch: &Switch,
        env: &Env,
        config: &Config,
    ) -> Result<Ran<'a>> {
        let route = config.policy.route(Some(&self.job.route));
        let route = route.ok_or_else(|| Error::from("a job without a route"))?;
        let told = match switch.of(route) {
            Mode::Refuse => Told {
                operation: self.operation.reference(),
                state: None,
                status: None,
            },
            Mode::Enforce | Mode::Observe => self.call(route, env, config).await?,
        };
        Ok(Ran { run: self, told })
    }

    async fn call(&self, route: &Route, env: &Env, config: &Config) -> Result<Told> {
        let began_ms = now_ms();
        let request = Request::made(&self.job.method, &self.job.path, config)?;
        let answer = gate::answer_to(&self.claiming()?, request, route, env, config).await?;
        tally::decided(&route.name, "enforce", &answer, began_ms);
        let state = answer.marks().state.as_deref().and_then(Status::parse);
        let told = Told {
            operation: self.operation.reference(),
            state: state.map(Status::as_str),
            status: Some(answer.status_code()),
        };
        answer.discard();
        Ok(told)
    }

    fn claiming(&self) -> Result<Claiming> {
        let body = serde_json::to_vec(&Body {
            job: self.job.name.as_str(),
            slot: self.slot.to_string(),
            run: self.name.as_ref().map(Name::as_str),
        })?;
        Ok(Claiming {
            asked: Question {
                operation: self.operation,
                fingerprint: Job::fingerprint(),
                principal: None,
            },
            scope: SCOPE.to_owned(),
            key: self.key.clone(),
            kind: KeyKind::Generated,
            token: None,
            body: Uint8Array::from(body.as_slice()).buffer(),
            uses_memory: false,
        })
    }
}

impl Ran<'_> {
    /// One line: a warning as long as the slot is not settled, or was refused.
    pub(super) fn log(&self) -> Line {
        let is_done = matches!(self.told.state, Some("executed" | "replayed"));
        let begun = match is_done {
            true => log::info("cron"),
            false => log::warn("cron"),
        };
        line(begun, self.run.job, self.run.slot)
            .operation(&self.told.operation)
            .with("run", self.run.name.as_ref().map(Name::as_str))
            .with("state", self.told.state)
            .with("status", self.told.status)
    }
}
