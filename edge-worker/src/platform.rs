//! The platform's own objects, handled by a few functions of JavaScript.
//!
//! Each of these is one crossing between wasm and JavaScript, where the same through bindings of the
//! platform's API would be dozens. `platform.js` says what they do.

use js_sys::{Array, ArrayBuffer, Date, Promise};
use wasm_bindgen::prelude::*;
use web_sys::{Request, Response};

#[wasm_bindgen(module = "/src/platform.js")]
extern "C" {
    #[wasm_bindgen(catch)]
    pub(crate) fn head(request: &Request) -> Result<String, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn told(request: &Request) -> Result<String, JsValue>;

    pub(crate) fn bytes(buffer: &ArrayBuffer) -> Vec<u8>;

    pub(crate) fn random(length: u32) -> Vec<u8>;

    #[wasm_bindgen(catch)]
    pub(crate) fn object(
        env: &JsValue,
        binding: &str,
        name: &str,
        jurisdiction: Option<&str>,
        location_hint: Option<&str>,
    ) -> Result<Service, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn bound(env: &JsValue, name: &str) -> Result<Service, JsValue>;

    pub(crate) fn send(
        service: Option<&Service>,
        url: &str,
        method: &str,
        headers: &JsValue,
        body: &JsValue,
    ) -> Promise;

    pub(crate) fn within(limit_ms: f64, promise: &Promise) -> Promise;

    pub(crate) fn marks(response: &Response, names: &str) -> String;

    pub(crate) fn fields(response: &Response) -> String;

    #[wasm_bindgen(catch)]
    pub(crate) fn respond(status: u16, headers: &str, body: &JsValue) -> Result<Response, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn changed(response: &Response, set: &str, added: &str)
    -> Result<Response, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn carried(body: &JsValue) -> Result<Array, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn request(
        url: &str,
        method: &str,
        headers: &str,
        body: &ArrayBuffer,
    ) -> Result<Request, JsValue>;

    /// What can be called: another Worker, or an object.
    #[derive(Clone, Debug)]
    pub(crate) type Service;
}

/// The time, in milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    Date::now() as u64
}
