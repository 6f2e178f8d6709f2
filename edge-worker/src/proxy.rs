//! What is not protected passes to the origin as it is.

use oncegate_core::problem::{Code, Problem};
use wasm_bindgen::JsValue;
use worker::{Env, Method, Response, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::{answer, body, headers, log, origins, wire};

/// Passes a request on, with this body: a stream, or bytes.
pub(crate) async fn pass(
    arrived: &Arrived,
    bytes: Option<JsValue>,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    let headers = headers::towards_origin(arrived, false, config)?.to_headers()?;
    let origin = config.origins.of_path(arrived.url.path());
    let url = origins::url(origin, &arrived.path_and_query);
    let request = wire::request(&url, arrived.method.clone(), headers, bytes)?;
    match origins::send(env, origin, &request).await {
        Ok(response) if response.status_code() <= body::LAST_STATUS => Ok(response),
        impassable => {
            let why = impassable.map(|response| {
                body::discard_answer(&response);
                format!("status {} cannot be passed on", response.status_code())
            });
            let detail = why.unwrap_or_else(|error| error.to_string());
            log::warn("pass_lost").detail(detail).write();
            answer::problem(&lost(&arrived.method))
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
