//! What the Desk is asked from outside.

use oncegate_core::problem::{Code, Problem};
use oncegate_core::signature::Secrets;
use worker::{Env, Response, ResponseBuilder, Result};

use super::message::ToDesk;
use crate::arrived::Arrived;
use crate::config::Config;
use crate::{answer, bearer, tally};

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
    asker.ask(env, config, &ToDesk::Metrics, PROMETHEUS).await
}

/// `GET events?after=`: the decisions that followed that number.
pub(crate) async fn events(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let asker = Asker(arrived, config.metrics_secrets.as_ref());
    let asked = arrived.url.query_pairs().find(|(name, _)| name == "after");
    let Ok(after) = asked.map_or(Ok(0), |(_, after)| after.parse()) else {
        let reason = "`after` is the number of an event";
        return answer::problem(&Problem::new(Code::RequestInvalid).because(reason));
    };
    asker
        .ask(env, config, &ToDesk::Events { after }, JSON)
        .await
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
        if let Err(problem) = bearer::name(self.0, self.1)? {
            return answer::problem(&problem);
        }
        // At least this isolate's own counts are complete.
        tally::tell(env, config).await;
        match super::tell(env, config, question).await {
            Ok(mut told) => Ok(ResponseBuilder::new()
                .with_header("content-type", content_type)?
                .with_header("cache-control", "no-store")?
                .fixed(told.bytes().await?)),
            Err(error) => {
                worker::console_error!("desk: {error}");
                answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))
            }
        }
    }
}
