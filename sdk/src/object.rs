//! Plain JavaScript objects: results, events and stored records.

use js_sys::{Object, Reflect};
use wasm_bindgen::JsValue;

/// An object with these members.
pub(crate) fn object(members: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (name, value) in members {
        set(&object, name, value);
    }
    object
}

/// Sets a member. It cannot fail on a plain object.
pub(crate) fn set(object: &Object, name: &str, value: &JsValue) {
    let _ = Reflect::set(object, &name.into(), value);
}

/// A member; `undefined` if there is none.
pub(crate) fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap_or_default()
}

/// A member that is a number from 0.
pub(crate) fn get_number(object: &JsValue, name: &str) -> Option<u64> {
    let number = get(object, name).as_f64()?;
    (number >= 0.0).then_some(number as u64)
}
