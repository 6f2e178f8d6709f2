//! Browser SDK of Oncegate: the shell over [`oncegate_core::attempt`].
//!
//! Invariant: nothing is decided here, and nothing is done: every call reads objects of sdk/js, asks
//! the core, and writes an object. sdk/js stores, sends and waits as it is told. No function here may
//! panic: the page's promise would never settle.

#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used)]

mod event;
mod flows;
mod object;
mod record;

use gloo_timers::callback::Timeout;
use js_sys::{Array, Function, Uint8Array};
use oncegate_core::attempt::record::{Naming, Phase, Record};
use oncegate_core::intent::{InstallSecret, PayloadDigest};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsError, JsValue};

use object::Fields;

/// A third of the default allocator's size, and that is a tenth of the package.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// How much of a payload is in the engine's memory at once: memory that has grown never shrinks.
const CHUNK: u32 = 64 * 1024;

/// Begins a flow with an `order` at a moment, and says what to do first.
///
/// # Errors
///
/// The secret is none.
#[wasm_bindgen]
pub fn begin(order: JsValue, said: JsValue, secret: &str) -> Result<Fields, JsValue> {
    Ok(flows::begin(&order, &said, install_secret(secret)?))
}

/// Takes what came of the last act of a flow, and says what to do next.
///
/// # Errors
///
/// That was not the last act: sdk/js is wrong.
#[wasm_bindgen]
pub fn next(flow: usize, said: JsValue) -> Result<Fields, JsValue> {
    flows::next(flow, &said)
}

/// Tells payloads apart; each part is a `Uint8Array`.
///
/// # Errors
///
/// The secret is none.
#[wasm_bindgen]
pub fn digest(secret: &str, parts: &Array) -> Result<String, JsValue> {
    let mut digest = PayloadDigest::new(&install_secret(secret)?);
    for part in parts.iter() {
        let part: Uint8Array = part.unchecked_into();
        let length = part.length();
        digest.begin_part(length.into());
        let mut start = 0;
        while start < length {
            let end = length.min(start + CHUNK);
            digest.update(&part.subarray(start, end).to_vec());
            start = end;
        }
    }
    Ok(digest.finish())
}

/// The record that an intent goes on with.
///
/// # Errors
///
/// The secret is none.
#[wasm_bindgen]
pub fn current(secret: &str, intent: &str, stored: JsValue) -> Result<Fields, JsValue> {
    let naming = Naming::Derived {
        secret: install_secret(secret)?,
        intent: intent.to_owned(),
    };
    let record = Record::current(record::read(&stored), &naming);
    Ok(record::to_object(&record))
}

/// What an executed intent is followed by; `undefined` for any other one, because then another key
/// could be a second execution.
#[wasm_bindgen]
pub fn end(stored: JsValue) -> Option<Fields> {
    let record = record::read(&stored).filter(|record| record.phase == Phase::Executed)?;
    Record::closed(Some(&record), record.epoch).map(|next| record::to_object(&next))
}

/// Calls `then` after so many milliseconds. The handle that it gives is for `clearTimeout`.
#[wasm_bindgen]
pub fn after(ms: u32, then: Function) -> JsValue {
    let timeout = Timeout::new(ms, move || {
        // What a listener throws is not the timer's: it stays with the page.
        let _ = then.call0(&JsValue::UNDEFINED);
    });
    timeout.forget()
}

fn install_secret(text: &str) -> Result<InstallSecret, JsValue> {
    let secret = InstallSecret::parse(text);
    secret.ok_or_else(|| JsError::new("oncegate: no install secret; please report this").into())
}
