//! Requests as the gate makes them, to the origin and between its own parts.
//!
//! Invariant: what is answered comes back as it was sent. The platform's defaults would follow a
//! redirect, sending the request once more, and would undo and redo content codings on the way.

use js_sys::futures::JsFuture;
use js_sys::{Promise, Reflect};
use wasm_bindgen::prelude::*;
use worker::{
    EncodeBody, Headers, Method, Request, RequestInit, RequestRedirect, Response, Result,
};

#[wasm_bindgen]
extern "C" {
    /// A binding that can be called: another Worker, or an object.
    pub(crate) type Service;

    #[wasm_bindgen(method, catch, js_name = fetch)]
    fn call(
        this: &Service,
        request: &web_sys::Request,
        init: &web_sys::RequestInit,
    ) -> std::result::Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_name = fetch)]
    fn fetch_url(
        request: &web_sys::Request,
        init: &web_sys::RequestInit,
    ) -> std::result::Result<Promise, JsValue>;
}

/// Makes a request with this body: a stream, or bytes.
pub(crate) fn request(
    url: &str,
    method: Method,
    headers: Headers,
    body: Option<JsValue>,
) -> Result<Request> {
    let mut init = RequestInit::new();
    init.with_method(method)
        .with_headers(headers)
        .with_body(body)
        .with_redirect(RequestRedirect::Manual);
    Request::new_with_init(url, &init)
}

/// Sends a request to the server that its URL names.
pub(crate) async fn fetch(request: &Request) -> Result<Response> {
    answered(fetch_url(request.inner(), &as_sent()?)?).await
}

/// Sends a request to a binding.
pub(crate) async fn call(service: Service, request: &Request) -> Result<Response> {
    answered(service.call(request.inner(), &as_sent()?)?).await
}

/// Leaves the answer's content coding alone. Said with the call: in a request the platform does not
/// heed it.
fn as_sent() -> Result<web_sys::RequestInit> {
    let init = web_sys::RequestInit::new();
    Reflect::set(&init, &"encodeResponseBody".into(), &"manual".into())?;
    Ok(init)
}

/// The first status of an answer. What is below announces one, or switches protocols, which nobody has
/// asked for; the platform panics when such a response is touched, and takes the isolate with it.
const FIRST_STATUS: u16 = 200;

/// The answer, which is not to be coded once more when it is passed on.
async fn answered(promise: Promise) -> Result<Response> {
    let response: web_sys::Response = JsFuture::from(promise).await?.dyn_into()?;
    let status = response.status();
    if status < FIRST_STATUS {
        return Err(format!("status {status} is no answer").into());
    }
    Ok(Response::from(response).with_encode_body(EncodeBody::Manual))
}
