//! Browser SDK of Oncegate: the shell over [`oncegate_core::attempt`] that stores, sends and waits.
//!
//! Invariant: a key is in storage before the first byte that carries it leaves, and what storage says
//! after a crash at any instant leads to the same key again, until the gate has said that nothing of
//! it can happen.
//!
//! sdk/js holds what must be JavaScript: the synchronous guard and the calls of the host (storage,
//! clock, events). No function here may panic: the page's promise would never settle.

#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used)]

mod answer;
mod flow;
mod host;
mod object;
mod operation;
mod record;
mod send;

use js_sys::Array;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use host::{Job, Storage};
use object::Fields;
use record::{Phase, Store};

/// A third of the default allocator's size, and that is a tenth of the package.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Makes the install secret if there is none, and says whether it did. Early, so that tabs that are
/// opened together have agreed on one long before the customer clicks: what one of them writes, the
/// others may read a moment later only.
///
/// # Errors
///
/// The host has no source of randomness.
#[wasm_bindgen]
pub fn prepare(storage: Storage) -> Result<bool, JsValue> {
    let store = Store::new(storage);
    let made = !store.has_secret();
    store.secret().map(|_| made)
}

/// Sends one operation until somebody says what became of it, or a limit is reached.
///
/// # Errors
///
/// The host has no source of randomness; nothing has been sent then.
#[wasm_bindgen]
pub async fn submit(job: Job) -> Result<Fields, JsValue> {
    flow::run(job).await
}

/// The intents whose operation is open.
#[wasm_bindgen]
pub fn pending(storage: Storage) -> Array {
    let open = Store::new(storage).open_records();
    open.map(|(intent, record)| {
        let entry = Fields::new();
        entry.set_text("intent", &intent);
        entry.set_text("key", &record.key);
        entry.set_text("phase", record.phase.as_str());
        entry.set_number("sends", record.sends.into());
        entry.set_number("firstSentMs", record.first_sent_ms as f64);
        entry
    })
    .collect()
}

/// Epoch, key and phase of an intent.
///
/// # Errors
///
/// The host has no source of randomness.
#[wasm_bindgen]
pub fn state(storage: Storage, intent: &str) -> Result<Fields, JsValue> {
    let record = Store::new(storage).current(intent)?;
    let state = Fields::new();
    state.set_number("epoch", record.epoch as f64);
    state.set_text("key", &record.key);
    state.set_text("phase", record.phase.as_str());
    Ok(state)
}

/// Ends an executed intent: its next operation has another key. `false` if it is open, because then
/// another key could be a second execution.
///
/// # Errors
///
/// The host has no source of randomness.
#[wasm_bindgen]
pub fn end(storage: Storage, intent: &str) -> Result<bool, JsValue> {
    let store = Store::new(storage);
    let record = store.current(intent)?;
    if record.phase == Phase::Executed {
        store.close(intent, record.epoch);
    }
    Ok(record.phase != Phase::Open)
}

/// An error of this code, not of the page or the network.
fn internal(what: &str) -> JsValue {
    JsError::new(what).into()
}
