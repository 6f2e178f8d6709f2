//! Randomness of the platform.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use worker::Result;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn fill(bytes: &Uint8Array) -> std::result::Result<JsValue, JsValue>;
}

/// Bytes that nobody can foretell.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let drawn = Uint8Array::new_from_slice(&bytes);
    fill(&drawn)?;
    drawn.copy_to(&mut bytes);
    Ok(bytes)
}
