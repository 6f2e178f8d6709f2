//! Browser SDK of Oncegate: the shell over [`oncegate_core::attempt`].
//!
//! Invariant: nothing is decided here, and nothing is done: every call reads what sdk/js says, asks
//! the core, and tells what it answers. sdk/js stores, sends and waits as it is told. No function here may
//! panic: the page's promise would never settle.

#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used)]

mod event;
mod fields;
mod flows;
mod record;

use gloo_timers::callback::Timeout;
use js_sys::{Array, Function, Uint8Array};
use oncegate_core::attempt::record::{Naming, Phase, Record};
use oncegate_core::intent::{InstallSecret, PayloadDigest};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use fields::{Reader, Writer};

/// A third of the default allocator's size, and that is a tenth of the package.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// How much of a payload is in the engine's memory at once: memory that has grown never shrinks.
const CHUNK: u32 = 64 * 1024;

/// Answers a letter of sdk/js/letter.js. Its first field says what is asked for:
///
/// - `begin`: begins a flow with an order at a moment; the answer says what to do first.
/// - `current`: the record that an intent goes on with.
/// - `end`: what an executed intent is followed by; nothing for any other one, because then another key
///   could be a second execution.
/// - `next`: takes what came of the last act of a flow; the answer says what to do next.
///
/// Without an answer (an empty text), sdk/js is wrong.
#[wasm_bindgen]
pub fn ask(letter: &str) -> String {
    let mut said = Reader::new(letter);
    let mut told = Writer::new();
    let answered = match said.text() {
        Some("begin") => flows::begin(&mut said, &mut told),
        Some("current") => current(&mut said, &mut told),
        Some("end") => end(&mut said, &mut told),
        Some("next") => flows::next(&mut said, &mut told),
        _ => None,
    };
    match answered {
        Some(()) => told.finish(),
        None => String::new(),
    }
}

/// Tells payloads apart; each part is a `Uint8Array`. An empty text if the secret is none.
#[wasm_bindgen]
pub fn digest(secret: &str, parts: &Array) -> String {
    let Some(secret) = InstallSecret::parse(secret) else {
        return String::new();
    };
    let mut digest = PayloadDigest::new(&secret);
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
    digest.finish()
}

/// Calls `then` after so many milliseconds. The handle that it gives is `setTimeout`'s; if that is cleared, `then` stays in the
/// engine for ever.
#[wasm_bindgen]
pub fn after(ms: u32, then: Function) -> JsValue {
    let timeout = Timeout::new(ms, move || {
        // What a listener throws is not the timer's: it stays with the page.
        let _ = then.call0(&JsValue::UNDEFINED);
    });
    timeout.forget()
}

fn current(said: &mut Reader<'_>, told: &mut Writer) -> Option<()> {
    let naming = naming(said)?;
    let record = Record::current(record::read(said), &naming);
    record::write(Some(&record), told);
    Some(())
}

fn end(said: &mut Reader<'_>, told: &mut Writer) -> Option<()> {
    let executed = record::read(said).filter(|record| record.phase == Phase::Executed);
    let next = executed.and_then(|record| Record::closed(Some(&record), record.epoch));
    record::write(next.as_ref(), told);
    Some(())
}

/// Without an intent, the secret is this call's own, and its first bytes are the randomness.
fn naming(said: &mut Reader<'_>) -> Option<Naming> {
    let secret = InstallSecret::parse(said.text()?)?;
    Some(match said.text() {
        Some(intent) => Naming::Derived {
            secret,
            intent: intent.into(),
        },
        None => Naming::Drawn {
            random: secret.random(),
            wall_ms: js_sys::Date::now() as u64,
        },
    })
}
