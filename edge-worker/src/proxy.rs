//! What is not protected passes to the origin as it is.

use oncegate_core::problem::{Code, Problem};
use wasm_bindgen::JsValue;
use worker::{Env, Method, Request, RequestInit, RequestRedirect, Response, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::{answer, headers, origins};

/// Passes a request on, with this body: a stream, or bytes.
pub(crate) async fn pass(
    arrived: &Arrived,
    body: Option<JsValue>,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    let mut init = RequestInit::new();
    init.with_method(arrived.method.clone())
        .with_headers(headers::towards_origin(arrived, false)?)
        .with_body(body)
        .with_redirect(RequestRedirect::Manual);
    let origin = config.origins.of_path(arrived.url.path());
    let url = origins::url(origin, &arrived.path_and_query);
    match origins::send(env, origin, Request::new_with_init(&url, &init)?).await {
        Ok(response) => Ok(response),
        Err(error) => {
            worker::console_error!("proxy: {error}");
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
