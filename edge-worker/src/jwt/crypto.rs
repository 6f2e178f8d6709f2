//! Signatures, by the platform's cryptography.

use std::cell::RefCell;

use js_sys::futures::JsFuture;
use js_sys::{JSON, Uint8Array};
use oncegate_core::jwt::{Algorithm, Jwk, Unverified};
use wasm_bindgen::JsValue;
use worker::Result;

use crate::{log, web_crypto};

/// How many imported keys are kept. Issuers have few, and what falls out is imported again.
const MOST_KEYS: usize = 16;

thread_local! {
    static IMPORTED: RefCell<Vec<(Jwk, JsValue)>> = const { RefCell::new(Vec::new()) };
}

/// Whether `key` has signed the token. A key that cannot be used has signed nothing.
pub(super) async fn is_signed(token: &Unverified, key: &Jwk) -> Result<bool> {
    let Ok(imported) = imported(key, token.algorithm()).await else {
        let name = key.kid.as_deref().unwrap_or_default();
        log::error("jwks")
            .detail("a key cannot be imported")
            .with("kid", name)
            .write();
        return Ok(false);
    };
    let signature = Uint8Array::from(token.signature());
    let signed = Uint8Array::from(token.signed().as_bytes());
    let algorithm = parameters(token.algorithm())?;
    let verified = JsFuture::from(web_crypto::verify(
        &algorithm, &imported, &signature, &signed,
    )?)
    .await?;
    Ok(verified.as_bool() == Some(true))
}

async fn imported(key: &Jwk, algorithm: Algorithm) -> Result<JsValue> {
    let known = IMPORTED.with_borrow(|keys| {
        let found = keys.iter().find(|(known, _)| known == key);
        found.map(|(_, imported)| imported.clone())
    });
    if let Some(imported) = known {
        return Ok(imported);
    }
    let jwk = JSON::parse(&serde_json::to_string(key)?)?;
    let usages = vec!["verify".to_owned()];
    let promise = web_crypto::import_key("jwk", &jwk, &parameters(algorithm)?, false, usages)?;
    let imported = JsFuture::from(promise).await?;
    IMPORTED.with_borrow_mut(|keys| {
        keys.truncate(MOST_KEYS - 1);
        keys.insert(0, (key.clone(), imported.clone()));
    });
    Ok(imported)
}

fn parameters(algorithm: Algorithm) -> Result<JsValue> {
    web_crypto::algorithm(match algorithm {
        Algorithm::EdDsa => &[("name", "Ed25519")],
        Algorithm::Es256 => &[
            ("name", "ECDSA"),
            ("namedCurve", "P-256"),
            ("hash", "SHA-256"),
        ],
        Algorithm::Rs256 => &[("name", "RSASSA-PKCS1-v1_5"), ("hash", "SHA-256")],
    })
}
