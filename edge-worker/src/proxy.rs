//! What is not protected passes to the origin as it is.

use oncegate_core::problem::{Code, Problem};
use worker::{Fetch, Request, RequestInit, RequestRedirect, Response, Result};

use crate::config::Config;
use crate::{answer, headers};

pub(crate) async fn pass(
    request: &Request,
    path_and_query: &str,
    config: &Config,
) -> Result<Response> {
    let mut init = RequestInit::new();
    init.with_method(request.method())
        .with_headers(headers::towards_origin(
            request.headers(),
            &request.url()?,
            false,
        )?)
        .with_body(request.inner().body().map(Into::into))
        .with_redirect(RequestRedirect::Manual);
    let url = format!("{}{path_and_query}", config.origin_url);
    match Fetch::Request(Request::new_with_init(&url, &init)?)
        .send()
        .await
    {
        Ok(response) => Ok(response),
        Err(error) => {
            worker::console_error!("proxy: {error}");
            answer::problem(&Problem::new(Code::OriginUnreachable))
        }
    }
}
