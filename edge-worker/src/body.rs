//! Bodies that stay in JavaScript.

use js_sys::futures::JsFuture;
use js_sys::{ArrayBuffer, Promise, Reflect, Uint8Array};
use oncegate_core::fingerprint::body_sha256;
use wasm_bindgen::prelude::*;
use web_sys::{ReadableStream, ReadableStreamDefaultReader};
use worker::Result;

use crate::arrived::Arrived;
use crate::fields::Fields;
use crate::wire::Response;
use crate::{platform, web_crypto};

/// Why there is no whole body.
pub(crate) enum BodyFault {
    /// The upload broke off: a body that was not sent whole must never be executed.
    Incomplete,
    TooLarge,
}

/// Reads a request's body to its end, but not beyond `limit` bytes.
pub(crate) async fn whole_request(
    arrived: &Arrived,
    limit: u64,
) -> std::result::Result<ArrayBuffer, BodyFault> {
    let request = &arrived.request;
    let announced = arrived.fields.get("content-length");
    let body = match announced.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length > limit => return Err(BodyFault::TooLarge),
        Some(_) => whole(request.array_buffer()).await,
        None => by_chunks(request, limit).await?,
    };
    body.map_err(|_| BodyFault::Incomplete)
}

/// Reads the body of a message between parts of the gate.
pub(crate) async fn whole_message(request: &web_sys::Request) -> Result<ArrayBuffer> {
    whole(request.array_buffer()).await
}

/// Reads a response's body to its end; a cut body is an error.
pub(crate) async fn whole_response(response: &web_sys::Response) -> Result<ArrayBuffer> {
    whole(response.array_buffer()).await
}

/// An answer of bytes that stay where they are.
pub(crate) fn response(
    status: u16,
    fields: &Fields,
    body: Option<&ArrayBuffer>,
) -> Result<Response> {
    // Some statuses must not have a body, not even an empty one.
    let body = body.filter(|body| body.byte_length() > 0);
    Response::new(status, fields, body.map(AsRef::as_ref))
}

/// Whether an answer with this status cannot have a body, not even an empty one.
pub(crate) fn is_bodiless(status: u16) -> bool {
    matches!(status, 204 | 205 | 304)
}

/// Gives up the copy of a body, read or not: a branch that nobody reads is kept in memory.
pub(crate) fn discard(request: &web_sys::Request) {
    if let Some(stream) = request.body()
        && !stream.locked()
    {
        // Whether it comes to an end changes nothing.
        let _ = stream.cancel();
    }
}

/// The last status with which the platform makes an answer; with a higher one it panics. Origins can send
/// higher ones.
pub(crate) const LAST_STATUS: u16 = 599;

/// Bodies up to this size are hashed sooner here than the platform can be asked to.
const SMALL_BYTES: u32 = 4 * 1024;

/// SHA-256, of a large body by the platform: it stays in JavaScript.
pub(crate) async fn sha256(data: &ArrayBuffer) -> Result<[u8; 32]> {
    if data.byte_length() <= SMALL_BYTES {
        return Ok(body_sha256(&platform::bytes(data)));
    }
    let digest = JsFuture::from(web_crypto::digest("SHA-256", data)?).await?;
    let mut bytes = [0; 32];
    Uint8Array::new(&digest).copy_to(&mut bytes);
    Ok(bytes)
}

/// A body of unannounced length is stopped at the limit, not read to an end that may never come.
async fn by_chunks(
    request: &web_sys::Request,
    limit: u64,
) -> std::result::Result<Result<ArrayBuffer>, BodyFault> {
    let Some(stream) = request.body() else {
        return Ok(Ok(ArrayBuffer::new(0)));
    };
    let mut chunks = Chunks::of(&stream);
    match chunks.up_to(limit).await {
        Ok(Read::Whole(body)) => Ok(Ok(body)),
        Ok(Read::More(_)) => Err(BodyFault::TooLarge),
        Err(error) => Ok(Err(error)),
    }
}

/// A stream, read chunk by chunk. One that is dropped before its end is given up: whoever writes it need
/// not wait for a reader.
pub(crate) struct Chunks {
    reader: ReadableStreamDefaultReader,
    has_ended: bool,
}

/// What [`Chunks::up_to`] has read.
pub(crate) enum Read {
    Whole(ArrayBuffer),
    /// These chunks are more than the limit, and there may be more behind them.
    More(Vec<Uint8Array>),
}

impl Chunks {
    pub(crate) fn of(stream: &ReadableStream) -> Self {
        Self {
            reader: stream.get_reader().unchecked_into(),
            has_ended: false,
        }
    }

    /// Reads to the end, but not beyond `limit` bytes.
    pub(crate) async fn up_to(&mut self, limit: u64) -> Result<Read> {
        let mut chunks = Vec::new();
        let mut length = 0;
        while let Some(chunk) = self.next().await? {
            length += chunk.length();
            chunks.push(chunk);
            if u64::from(length) > limit {
                return Ok(Read::More(chunks));
            }
        }
        Ok(Read::Whole(joined(&chunks, length)))
    }

    /// The next chunk; `None` at the end. A stream that breaks off is an error.
    pub(crate) async fn next(&mut self) -> Result<Option<Uint8Array>> {
        let read = JsFuture::from(self.reader.read()).await;
        self.has_ended = read.is_err();
        let value = Reflect::get(&read?, &"value".into())?;
        self.has_ended = value.is_undefined();
        Ok((!self.has_ended).then(|| value.unchecked_into()))
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        if !self.has_ended {
            // Whether the other side hears of it in time changes nothing.
            let _ = self.reader.cancel();
        }
    }
}

fn joined(chunks: &[Uint8Array], length: u32) -> ArrayBuffer {
    let whole = Uint8Array::new_with_length(length);
    let mut at = 0;
    for chunk in chunks {
        whole.set(chunk, at);
        at += chunk.length();
    }
    whole.buffer()
}

async fn whole(promise: std::result::Result<Promise, JsValue>) -> Result<ArrayBuffer> {
    Ok(JsFuture::from(promise?).await?.unchecked_into())
}
