//! Bodies that stay in JavaScript.

use js_sys::futures::JsFuture;
use js_sys::{ArrayBuffer, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use worker::{Error, Result};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = digest)]
    fn digest(algorithm: &str, data: &ArrayBuffer) -> std::result::Result<Promise, JsValue>;
}

/// Reads a request's body to its end. An upload that breaks off is an error: a body that was not
/// sent whole must never be executed.
pub(crate) async fn whole_request(request: &web_sys::Request) -> Result<ArrayBuffer> {
    whole(request.array_buffer()?).await
}

/// Reads a response's body to its end; a cut body is an error.
pub(crate) async fn whole_response(response: &web_sys::Response) -> Result<ArrayBuffer> {
    whole(response.array_buffer()?).await
}

/// SHA-256 by the platform.
pub(crate) async fn sha256(data: &ArrayBuffer) -> Result<[u8; 32]> {
    let digest = JsFuture::from(digest("SHA-256", data)?).await?;
    let mut bytes = [0; 32];
    Uint8Array::new(&digest).copy_to(&mut bytes);
    Ok(bytes)
}

async fn whole(promise: Promise) -> Result<ArrayBuffer> {
    let buffer = JsFuture::from(promise).await?;
    buffer
        .dyn_into()
        .map_err(|_| Error::from("a body that is no ArrayBuffer"))
}
