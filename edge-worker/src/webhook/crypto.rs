//! Signatures with public keys, and what is encrypted, by the platform's cryptography.

use std::cell::RefCell;

use js_sys::futures::JsFuture;
use js_sys::{Object, Reflect, Uint8Array};
use oncegate_core::webhook::keys::PublicKey;
use oncegate_core::webhook::{Question, Questions, Sealed};
use wasm_bindgen::JsValue;
use worker::Result;

use crate::{log, web_crypto};

/// How many imported keys are kept. What falls out is imported again.
const MOST_KEYS: usize = 16;

thread_local! {
    static IMPORTED: RefCell<Vec<(PublicKey, JsValue)>> = const { RefCell::new(Vec::new()) };
}

/// Whether one of these signatures is what it should be.
pub(super) async fn is_any_signed(questions: &Questions<'_>) -> Result<bool> {
    let message = Uint8Array::from(questions.message.as_slice());
    for question in &questions.any_of {
        if is_signed(question, &message).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A key that cannot be used has signed nothing.
async fn is_signed(question: &Question<'_>, message: &Uint8Array) -> Result<bool> {
    let algorithm = parameters(question.key)?;
    let Ok(key) = imported(question.key, &algorithm).await else {
        let line = log::error("webhook_key").with("key", question.name);
        line.detail("the platform does not take it").write();
        return Ok(false);
    };
    let signature = Uint8Array::from(question.signature.as_slice());
    let verified = web_crypto::verify(&algorithm, &key, &signature, message)?;
    // One of another length is an error to some platforms.
    let verified = JsFuture::from(verified).await.unwrap_or(JsValue::FALSE);
    Ok(verified.as_bool() == Some(true))
}

async fn imported(key: &PublicKey, algorithm: &JsValue) -> Result<JsValue> {
    let known = IMPORTED.with_borrow(|keys| {
        let found = keys.iter().find(|(known, _)| known == key);
        found.map(|(_, imported)| imported.clone())
    });
    if let Some(imported) = known {
        return Ok(imported);
    }
    let (format, bytes) = match key {
        PublicKey::Ed25519(bytes) => ("raw", bytes.as_slice()),
        PublicKey::Rsa(bytes) => ("spki", bytes.as_slice()),
    };
    let bytes = Uint8Array::from(bytes);
    let usages = vec!["verify".to_owned()];
    let promise = web_crypto::import_key(format, &bytes, algorithm, false, usages)?;
    let imported = JsFuture::from(promise).await?;
    IMPORTED.with_borrow_mut(|keys| {
        keys.truncate(MOST_KEYS - 1);
        keys.insert(0, (key.clone(), imported.clone()));
    });
    Ok(imported)
}

fn parameters(key: &PublicKey) -> Result<JsValue> {
    web_crypto::algorithm(match key {
        PublicKey::Ed25519(_) => &[("name", "Ed25519")],
        PublicKey::Rsa(_) => &[("name", "RSASSA-PKCS1-v1_5"), ("hash", "SHA-256")],
    })
}

/// What is encrypted with this secret; `None` if it is encrypted with another one, or was changed.
pub(super) async fn open(secret: &[u8], sealed: &Sealed) -> Result<Option<Vec<u8>>> {
    let key = Uint8Array::from(secret);
    let usages = vec!["decrypt".to_owned()];
    let imported = web_crypto::import_key("raw", &key, &"AES-GCM".into(), false, usages)?;
    let key = JsFuture::from(imported).await?;
    let algorithm = Object::new();
    let parts = [("iv", &sealed.nonce), ("additionalData", &sealed.context)];
    Reflect::set(&algorithm, &"name".into(), &"AES-GCM".into())?;
    for (name, bytes) in parts {
        Reflect::set(
            &algorithm,
            &name.into(),
            &Uint8Array::from(bytes.as_slice()),
        )?;
    }
    let bytes = Uint8Array::from(sealed.bytes.as_slice());
    let opened = JsFuture::from(web_crypto::decrypt(&algorithm, &key, &bytes)?).await;
    Ok(opened.ok().map(|opened| Uint8Array::new(&opened).to_vec()))
}
