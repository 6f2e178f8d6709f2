//! What is not protected passes to the origin as it is.

use oncegate_core::problem::{Code, Problem};
use wasm_bindgen::JsValue;
use worker::{Fetch, Method, Request, RequestInit, RequestRedirect, Response, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::{answer, headers};

/// Passes a request on, with this body: a stream, or bytes.
pub(crate) async fn pass(
    arrived: &Arrived,
    body: Option<JsValue>,
    config: &Config,
) -> Result<Response> {
    let mut init = RequestInit::new();
    init.with_method(arrived.method.clone())
        .with_headers(headers::towards_origin(arrived, false)?)
        .with_body(body)
        .with_redirect(RequestRedirect::Manual);
    let url = format!("{}{}", config.origin_url, arrived.path_and_query);
    match Fetch::Request(Request::new_with_init(&url, &init)?)
        .send()
        .await
    {
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
