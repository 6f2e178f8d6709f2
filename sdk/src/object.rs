//! Plain JavaScript objects: what comes from sdk/js and goes there.
//!
//! Members are set by type: a conversion to `JsValue` at each of the many places would be larger.

use js_sys::{Object, Reflect};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

#[wasm_bindgen]
extern "C" {
    /// A plain object that is being filled.
    #[wasm_bindgen(extends = Object)]
    pub type Fields;

    #[wasm_bindgen(method, indexing_setter)]
    pub(crate) fn set(this: &Fields, name: &str, value: &JsValue);
    #[wasm_bindgen(method, indexing_setter)]
    pub(crate) fn set_flag(this: &Fields, name: &str, value: bool);
    #[wasm_bindgen(method, indexing_setter)]
    pub(crate) fn set_number(this: &Fields, name: &str, value: f64);
    #[wasm_bindgen(method, indexing_setter)]
    pub(crate) fn set_text(this: &Fields, name: &str, value: &str);
}

impl Fields {
    pub(crate) fn new() -> Self {
        Object::new().unchecked_into()
    }
}

/// A member; `undefined` if there is none.
pub(crate) fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap_or_default()
}

/// A member that is a string.
pub(crate) fn get_text(object: &JsValue, name: &str) -> Option<String> {
    get(object, name).as_string()
}

/// A member that is a number from 0.
pub(crate) fn get_number(object: &JsValue, name: &str) -> Option<u64> {
    let number = get(object, name).as_f64()?;
    (number >= 0.0).then_some(number as u64)
}

/// A member that says yes.
pub(crate) fn get_flag(object: &JsValue, name: &str) -> bool {
    get(object, name).is_truthy()
}
