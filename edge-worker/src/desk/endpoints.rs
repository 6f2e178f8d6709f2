//! What the Desk is asked from outside.

use oncegate_core::problem::{Code, Problem};
use oncegate_core::signature::Secrets;
use oncegate_core::switch::{Mode, Position, Switch};
use serde::Deserialize;
use worker::{Date, Env, Error, Response, ResponseBuilder, Result};

use super::message::{Set, ToDesk};
use crate::arrived::Arrived;
use crate::config::Config;
use crate::wanted;
use crate::webhook::warning;
use crate::{answer, bearer, log, switch, tally};

const JSON: &str = "application/json";

/// The text format of Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `GET admin/operations?state=trouble`: every operation that does not settle by itself.
pub(crate) async fn trouble(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let asker = Asker(arrived, config.admin_secrets.as_ref());
    asker.ask(env, config, &ToDesk::List, JSON).await
}

/// `GET metrics`, for Prometheus.
pub(crate) async fn metrics(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let asker = Asker(arrived, config.metrics_secrets.as_ref());
    let mut told = asker.ask(env, config, &ToDesk::Metrics, PROMETHEUS).await?;
    if told.status_code() != 200 {
        return Ok(told);
    }
    // What is no count is not the Desk's.
    let page = told.text().await? + &warning::metrics(config);
    Ok(ResponseBuilder::new()
        .with_headers(told.headers().clone())
        .fixed(page.into_bytes()))
}

/// `GET events?after=`: the decisions that followed that number.
pub(crate) async fn events(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let asker = Asker(arrived, config.metrics_secrets.as_ref());
    let asked = arrived.query("after");
    let Ok(after) = asked.map_or(Ok(0), |after| after.parse()) else {
        let reason = "`after` is the number of an event";
        return answer::problem(&Problem::new(Code::RequestInvalid).because(reason));
    };
    asker
        .ask(env, config, &ToDesk::Events { after }, JSON)
        .await
}

/// `GET admin/switch`: how it is set.
pub(crate) async fn switch(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let asker = Asker(arrived, config.admin_secrets.as_ref());
    asker.ask(env, config, &ToDesk::Switch, JSON).await
}

/// `PUT admin/switch`: sets it, for one route or for all.
pub(crate) async fn set_switch(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let secret = match bearer::name(arrived, config.admin_secrets.as_ref())? {
        Ok(secret) => secret,
        Err(problem) => return answer::problem(&problem),
    };
    let set = match wanted(arrived, config).await {
        Ok(set) => set,
        Err(reason) => {
            return answer::problem(&Problem::new(Code::RequestInvalid).because(reason));
        }
    };
    log::warn("switch_set")
        .with("secret", secret)
        .with("route", &set.route)
        .with("position", &set.position)
        .write();
    match super::tell(env, config, &ToDesk::SetSwitch(set)).await {
        Ok(mut told) => {
            let set: Switch = told.json().await?;
            let answer = ResponseBuilder::new()
                .with_header("cache-control", "no-store")?
                .from_json(&set);
            switch::learn(set);
            answer
        }
        Err(error) => unavailable(&error),
    }
}

/// What the body of a call to set the switch says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    mode: Mode,
    route: Option<String>,
}

async fn wanted(arrived: &Arrived, config: &Config) -> std::result::Result<Set, String> {
    let (wanted, word) = wanted::by_person::<Wanted>(arrived).await?;
    let unknown = |route: &&String| config.policy.route(Some(route)).is_none();
    if let Some(route) = wanted.route.as_ref().filter(unknown) {
        return Err(format!("there is no route '{route}'"));
    }
    Ok(Set {
        route: wanted.route,
        position: Position {
            mode: wanted.mode,
            actor: word.actor,
            reason: word.reason,
            since_ms: Date::now().as_millis(),
        },
    })
}

fn unavailable(error: &Error) -> Result<Response> {
    log::error("desk_call").detail(error).write();
    answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))
}

/// Who asks, and whose secrets may.
struct Asker<'a>(&'a Arrived, Option<&'a Secrets>);

impl Asker<'_> {
    /// Passes the Desk's answer on.
    async fn ask(
        &self,
        env: &Env,
        config: &Config,
        question: &ToDesk,
        content_type: &str,
    ) -> Result<Response> {
        let secret = match bearer::name(self.0, self.1)? {
            Ok(secret) => secret,
            Err(problem) => return answer::problem(&problem),
        };
        if matches!(question, ToDesk::List) {
            log::info("admin_list").with("secret", secret).write();
        }
        // At least this isolate's own counts are complete.
        tally::tell(env, config).await;
        match super::tell(env, config, question).await {
            Ok(mut told) => Ok(ResponseBuilder::new()
                .with_header("content-type", content_type)?
                .with_header("cache-control", "no-store")?
                .fixed(told.bytes().await?)),
            Err(error) => unavailable(&error),
        }
    }
}
