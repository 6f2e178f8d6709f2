//! Encryption of what shards store: answers, and the requests that the gate may have to send again.
//!
//! Invariant: a shard never has the key, and never sees what is sealed. AES-256-GCM by the platform,
//! under a named secret; bound to the operation and to what it is, so that no row can stand in for
//! another. What cannot be opened is 503, never garbage.

use js_sys::futures::JsFuture;
use js_sys::{ArrayBuffer, Object, Reflect, Uint8Array};
use oncegate_core::identity::Identity;
use oncegate_core::problem::{Code, Problem};
use oncegate_core::sealing::{Purpose, SealingSecret};
use wasm_bindgen::JsValue;
use worker::{Error, Result};

use crate::config::Config;
use crate::fields::Fields;
use crate::wire::{Incoming, Response};
use crate::{answer, body, log, web_crypto};

/// The header with the name of the secret, on what is sealed.
pub(crate) const SEALED: &str = "oncegate-sealed";

/// In front of the sealed bytes. Drawn for each: 96 bits, as GCM wants them.
const IV_LENGTH: u32 = 12;

/// Seals bytes of an operation.
pub(crate) async fn seal(
    secret: &SealingSecret,
    purpose: Purpose,
    operation: &str,
    plain: &Uint8Array,
) -> Result<ArrayBuffer> {
    let iv = Uint8Array::from(web_crypto::random_bytes::<{ IV_LENGTH as usize }>()?.as_slice());
    let algorithm = algorithm(&iv, purpose, operation)?;
    let sealed =
        JsFuture::from(web_crypto::encrypt(&algorithm, &key(secret).await?, plain)?).await?;
    let sealed = Uint8Array::new(&sealed);
    let whole = Uint8Array::new_with_length(IV_LENGTH + sealed.length());
    whole.set(&iv, 0);
    whole.set(&sealed, IV_LENGTH);
    Ok(whole.buffer())
}

/// Opens what [`seal`] has made with the secret of this name.
pub(crate) async fn open(
    config: &Config,
    name: &str,
    purpose: Purpose,
    operation: &str,
    sealed: &ArrayBuffer,
) -> Result<Uint8Array> {
    let secret = secret(config, name, operation)?;
    let whole = Uint8Array::new(sealed);
    let iv = whole.subarray(0, IV_LENGTH);
    let sealed = whole.subarray(IV_LENGTH, whole.length());
    let algorithm = algorithm(&iv, purpose, operation)?;
    let opened = JsFuture::from(web_crypto::decrypt(
        &algorithm,
        &key(secret).await?,
        &sealed,
    )?)
    .await;
    let opened = opened.map_err(|_| {
        Error::from(format!(
            "what '{name}' has sealed for {operation} cannot be opened: another key, or another row"
        ))
    })?;
    Ok(Uint8Array::new(&opened))
}

/// The secret of this name.
fn secret<'c>(config: &'c Config, name: &str, operation: &str) -> Result<&'c SealingSecret> {
    let secrets = config.sealing_secrets.as_ref();
    let secret = secrets.and_then(|secrets| secrets.named(name));
    secret.ok_or_else(|| {
        Error::from(format!(
            "SEALING_SECRETS: none is named '{name}', which sealed {operation}; put it back"
        ))
    })
}

/// Whether the secret is still there under which a request lies in its row: without it, it cannot be sent.
pub(crate) fn can_open_request(fields: &Fields, operation: &str, config: &Config) -> Result<()> {
    match fields.get(SEALED) {
        Some(name) => secret(config, name, operation).map(|_| ()),
        None => Ok(()),
    }
}

/// A request on its way to a row, under what names its secret in the header.
pub(crate) async fn seal_request(
    secret: &SealingSecret,
    operation: &str,
    fields: &mut Fields,
    body: &ArrayBuffer,
) -> Result<ArrayBuffer> {
    fields.set(SEALED, secret.name());
    seal(secret, Purpose::Request, operation, &Uint8Array::new(body)).await
}

/// The body of a request that comes from a shard, opened if it is sealed.
pub(crate) async fn open_request(
    incoming: &Incoming,
    operation: &str,
    config: &Config,
) -> Result<ArrayBuffer> {
    let body = body::whole_message(&incoming.request).await?;
    match incoming.fields.get(SEALED) {
        Some(name) => {
            let opened = open(config, name, Purpose::Request, operation, &body).await?;
            Ok(opened.buffer())
        }
        None => Ok(body),
    }
}

/// An answer on its way to the row: its header fields and its body in one.
pub(crate) async fn seal_answer(
    secret: &SealingSecret,
    operation: &str,
    fields: &[(String, String)],
    body: &ArrayBuffer,
) -> Result<ArrayBuffer> {
    let fields = serde_json::to_vec(fields)?;
    let length = fields.len() as u32;
    let plain = Uint8Array::new_with_length(4 + length + body.byte_length());
    plain.set(&Uint8Array::from(length.to_be_bytes().as_slice()), 0);
    plain.set(&Uint8Array::from(fields.as_slice()), 4);
    plain.set(&Uint8Array::new(body), 4 + length);
    seal(secret, Purpose::Answer, operation, &plain).await
}

/// A shard's answer as it is for the client: opened, if it is a sealed one from the record.
pub(crate) async fn opened(
    response: Response,
    operation: &Identity,
    config: &Config,
) -> Result<Response> {
    let Some(name) = response.marks().sealed.clone() else {
        return Ok(response);
    };
    match open_answer(response, &name, &operation.reference(), config).await {
        Ok(response) => Ok(response),
        Err(error) => {
            log::error("sealing")
                .operation(&operation.reference())
                .detail(error)
                .write();
            Ok(answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))?.into())
        }
    }
}

async fn open_answer(
    response: Response,
    name: &str,
    operation: &str,
    config: &Config,
) -> Result<Response> {
    let (status, mut fields) = (response.status_code(), response.fields()?);
    let sealed = body::whole_response(response.inner()).await?;
    let plain = open(config, name, Purpose::Answer, operation, &sealed).await?;
    let mut length = [0; 4];
    plain.subarray(0, 4).copy_to(&mut length);
    let body_at = 4 + u32::from_be_bytes(length);
    let opened = plain.subarray(4, body_at).to_vec();
    let opened: Vec<(String, String)> = serde_json::from_slice(&opened)?;
    fields.remove(SEALED);
    for (name, value) in opened {
        fields.set(&name, value);
    }
    let body = plain.slice(body_at, plain.length()).buffer();
    body::response(status, &fields, Some(&body))
}

async fn key(secret: &SealingSecret) -> Result<JsValue> {
    let usages = vec!["encrypt".to_owned(), "decrypt".to_owned()];
    let bytes = Uint8Array::from(secret.key().as_slice());
    let imported = web_crypto::import_key("raw", &bytes, &"AES-GCM".into(), false, usages)?;
    Ok(JsFuture::from(imported).await?)
}

fn algorithm(iv: &Uint8Array, purpose: Purpose, operation: &str) -> Result<Object> {
    let algorithm = Object::new();
    let context = Uint8Array::from(purpose.context(operation).as_bytes());
    Reflect::set(&algorithm, &"name".into(), &"AES-GCM".into())?;
    Reflect::set(&algorithm, &"iv".into(), iv)?;
    Reflect::set(&algorithm, &"additionalData".into(), &context)?;
    Ok(algorithm)
}
