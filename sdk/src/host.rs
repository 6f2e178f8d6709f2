//! The host: what sdk/js hands over, and the few globals that are called from here.

use js_sys::{Array, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::{AbortSignal, Headers};

use crate::object::Fields;

#[wasm_bindgen]
extern "C" {
    /// One call of `submit`, checked and completed by sdk/js.
    pub type Job;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn storage(this: &Job) -> Storage;
    /// Absent for an operation without an intent.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn intent(this: &Job) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    pub(crate) fn url(this: &Job) -> String;
    #[wasm_bindgen(method, getter)]
    pub(crate) fn method(this: &Job) -> String;
    /// Sends the request, or has its gate cancel the key in its headers.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(
        this: &Job,
        cancels: bool,
        signal: &AbortSignal,
    ) -> Result<Promise, JsValue>;
    /// The headers of every call.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn headers(this: &Job) -> Headers;
    /// The bytes of the body.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn bytes(this: &Job) -> Vec<u8>;
    /// Resolved when the user gives up.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn aborted(this: &Job) -> Promise;
    #[wasm_bindgen(method, js_name = isAborted)]
    pub(crate) fn is_aborted(this: &Job) -> bool;
    #[wasm_bindgen(method, getter, js_name = baseMs)]
    pub(crate) fn base_ms(this: &Job) -> f64;
    #[wasm_bindgen(method, getter, js_name = capMs)]
    pub(crate) fn cap_ms(this: &Job) -> f64;
    #[wasm_bindgen(method, getter, js_name = attemptTimeoutMs)]
    pub(crate) fn attempt_timeout_ms(this: &Job) -> f64;
    #[wasm_bindgen(method, getter, js_name = deadlineMs)]
    pub(crate) fn deadline_ms(this: &Job) -> f64;
    #[wasm_bindgen(method, getter, js_name = maxAttempts)]
    pub(crate) fn max_attempts(this: &Job) -> u32;
    /// Milliseconds during which the page was awake. Never goes back.
    #[wasm_bindgen(method)]
    pub(crate) fn now(this: &Job) -> f64;
    /// Tells listeners. Never throws.
    #[wasm_bindgen(method)]
    pub(crate) fn emit(this: &Job, kind: &str, fields: &Fields);

    /// Strings by name, across reloads where the browser allows it. Never throws.
    pub type Storage;

    #[wasm_bindgen(method)]
    pub(crate) fn get(this: &Storage, name: &str) -> Option<String>;
    /// `false` if the value will not survive the page.
    #[wasm_bindgen(method)]
    pub(crate) fn set(this: &Storage, name: &str, value: &str) -> bool;
    #[wasm_bindgen(method)]
    pub(crate) fn names(this: &Storage) -> Array;

    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(bytes: &mut [u8]) -> Result<(), JsValue>;
}

/// Bytes from the host's cryptographic source.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], JsValue> {
    let mut bytes = [0; N];
    get_random_values(&mut bytes)?;
    Ok(bytes)
}

/// Milliseconds since the Unix epoch.
pub(crate) fn wall_ms() -> u64 {
    js_sys::Date::now() as u64
}
