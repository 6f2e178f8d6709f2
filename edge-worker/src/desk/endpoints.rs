//! What the Desk is asked from outside.

use oncegate_core::problem::{Code, Problem};
use worker::{Env, Response, ResponseBuilder, Result};

use super::message::{Listed, ToDesk};
use crate::answer;
use crate::arrived::Arrived;
use crate::bearer;
use crate::config::Config;

/// `GET admin/operations?state=trouble`: every operation that does not settle by itself.
pub(crate) async fn trouble(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    if let Err(problem) = bearer::name(arrived, config.admin_secrets.as_ref())? {
        return answer::problem(&problem);
    }
    match super::tell(env, config, &ToDesk::List).await {
        Ok(mut told) => {
            let listed: Listed = told.json().await?;
            ResponseBuilder::new()
                .with_header("cache-control", "no-store")?
                .from_json(&listed)
        }
        Err(error) => unavailable(&error),
    }
}

fn unavailable(error: &worker::Error) -> Result<Response> {
    worker::console_error!("desk: {error}");
    answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))
}
