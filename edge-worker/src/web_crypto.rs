//! The platform's cryptography: the one place where it is declared.
//!
//! What it works on stays in JavaScript; what is done with it, and why, is said where it is called.

use js_sys::{ArrayBuffer, Object, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use worker::Result;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn fill(bytes: &Uint8Array) -> std::result::Result<JsValue, JsValue>;

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"])]
    pub(crate) fn digest(
        algorithm: &str,
        data: &ArrayBuffer,
    ) -> std::result::Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = importKey)]
    pub(crate) fn import_key(
        format: &str,
        key: &JsValue,
        algorithm: &JsValue,
        extractable: bool,
        usages: Vec<String>,
    ) -> std::result::Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"])]
    pub(crate) fn encrypt(
        algorithm: &Object,
        key: &JsValue,
        plain: &Uint8Array,
    ) -> std::result::Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"])]
    pub(crate) fn decrypt(
        algorithm: &Object,
        key: &JsValue,
        sealed: &Uint8Array,
    ) -> std::result::Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"])]
    pub(crate) fn verify(
        algorithm: &JsValue,
        key: &JsValue,
        signature: &Uint8Array,
        data: &Uint8Array,
    ) -> std::result::Result<Promise, JsValue>;
}

/// Bytes that nobody can foretell.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let drawn = Uint8Array::new_from_slice(&bytes);
    fill(&drawn)?;
    drawn.copy_to(&mut bytes);
    Ok(bytes)
}
