//! The suite on a Durable Object's own SQLite, through the very code that the gate has for it.

use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::prelude::*;
use worker::{State, console_error};

use crate::shelf::{Blob, Machine};

#[expect(dead_code, reason = "the gate needs more of it than the suite")]
#[path = "../../../edge-worker/src/store.rs"]
mod store;

struct Object(State);

impl Machine for Object {
    type Shelf = store::Store;

    fn open(&self, now_ms: u64) -> store::Store {
        store::open(&self.0.storage(), now_ms).expect("the store opens")
    }
}

impl Blob for ArrayBuffer {
    fn of(bytes: &[u8]) -> Self {
        Uint8Array::from(bytes).buffer()
    }

    fn to_bytes(&self) -> Vec<u8> {
        Uint8Array::new(self).to_vec()
    }
}

/// The names of all cases.
#[wasm_bindgen]
pub fn names() -> Vec<String> {
    crate::NAMES.iter().copied().map(str::to_owned).collect()
}

/// Runs a case on an object's storage, which must be empty. It throws where the contract is broken; the
/// console says where.
#[wasm_bindgen]
pub fn run(name: &str, state: worker::worker_sys::DurableObjectState) {
    std::panic::set_hook(Box::new(|panic| console_error!("{panic}")));
    crate::run(name, &Object(State::from(state)));
}

/// The answer to one of tests/vectors, as the core that is built for the edge gives it.
#[wasm_bindgen]
pub fn answer(file: &str, vector: &str) -> String {
    crate::vectors::answer(file, vector)
}
