//! What is not protected passes to the origin as it is.

use oncegate_core::problem::{Code, Problem};
use wasm_bindgen::JsValue;
use worker::{Env, Method, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::wire::{Call, Response};
use crate::{answer, body, headers, log, origins};

/// Passes a request on, with this body: a stream, or bytes.
pub(crate) async fn pass(
    arrived: &Arrived,
    bytes: Option<JsValue>,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    let headers = headers::towards_origin(arrived, false, config)?;
    let origin = config.origins.of_path(arrived.url.path());
    let url = origins::url(origin, &arrived.path_and_query);
    let call = Call::new(url, arrived.method.as_ref(), &headers, bytes)?;
    match origins::send(env, origin, &call).await {
        Ok(response) if response.status_code() <= body::LAST_STATUS => Ok(response),
        impassable => {
            let why = impassable.map(|response| {
                let status = response.status_code();
                response.discard();
                format!("status {status} cannot be passed on")
            });
            let detail = why.unwrap_or_else(|error| error.to_string());
            log::warn("pass_lost").detail(detail).write();
            Ok(answer::problem(&lost(&arrived.method))?.into())
        }
    }
}

/// The platform cannot tell whether the origin was reached, so a request with an effect may have had it.
fn lost(method: &Method) -> Problem {
    match method {
        Method::Get | Method::Head | Method::Options => Problem::new(Code::OriginUnreachable),
        _ => Problem::unkeyed(),
    }
}
