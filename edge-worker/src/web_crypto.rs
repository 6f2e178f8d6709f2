//! The platform's cryptography: the one place where it is declared.
//!
//! What it works on stays in JavaScript; what is done with it, and why, is said where it is called.

use js_sys::{ArrayBuffer, Object, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use worker::{Error, Result};

use crate::platform;

#[wasm_bindgen]
extern "C" {
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

/// What the platform has to know of an algorithm, for importing and for verifying.
pub(crate) fn algorithm(parameters: &[(&str, &str)]) -> Result<JsValue> {
    let object = Object::new();
    for (name, value) in parameters {
        js_sys::Reflect::set(&object, &(*name).into(), &(*value).into())?;
    }
    Ok(object.into())
}

/// Bytes that nobody can foretell.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let drawn = platform::random(N as u32);
    let drawn = drawn.try_into();
    drawn.map_err(|_| Error::from("other bytes than were asked for"))
}
