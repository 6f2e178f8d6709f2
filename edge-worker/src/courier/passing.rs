//! An answer that is passed on as it comes, without being held (rule P6).
//!
//! Invariant: the origin's answer is read to its end whatever the client does, because only its end
//! proves that it is whole. A client that reads slowly slows the reading; one that has left, or takes
//! nothing for a long time, no longer does. What would make the answer whole for its client, the end
//! or the bytes that complete an announced length, is given by [`Client::end`] alone.

use js_sys::futures::JsFuture;
use js_sys::{Error, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{ReadableStream, TransformStream, WritableStreamDefaultWriter};
use worker::Result;

use crate::body::Chunks;
use crate::shards::within;

/// How long a client may take nothing before it counts as gone, in milliseconds.
const PATIENCE_MS: u64 = 60_000;

#[wasm_bindgen]
extern "C" {
    /// Passes bytes on as they are, and promises how many there will be.
    #[wasm_bindgen(extends = TransformStream)]
    type FixedLengthStream;

    #[wasm_bindgen(catch, constructor)]
    fn new(length: f64) -> std::result::Result<FixedLengthStream, JsValue>;

    /// Passes bytes on as they are.
    #[wasm_bindgen(extends = TransformStream)]
    type IdentityTransformStream;

    #[wasm_bindgen(catch, constructor)]
    fn new() -> std::result::Result<IdentityTransformStream, JsValue>;
}

/// An answer of which something may have been read.
pub(super) struct Passing {
    first: Vec<Uint8Array>,
    rest: Chunks,
    length: Option<u64>,
}

impl Passing {
    /// An answer that announces its length, or none.
    pub(super) fn new(rest: Chunks, length: Option<u64>) -> Self {
        Self {
            first: Vec::new(),
            rest,
            length,
        }
    }

    /// An answer that announced no length and has turned out to be too large to be held.
    pub(super) fn begun(first: Vec<Uint8Array>, rest: Chunks) -> Self {
        Self {
            first,
            rest,
            length: None,
        }
    }

    /// The stream for the client, and the writer that fills it.
    pub(super) fn open(&self) -> Result<(ReadableStream, Client)> {
        let pipe: TransformStream = match self.length {
            Some(length) => FixedLengthStream::new(length as f64)?.into(),
            None => IdentityTransformStream::new()?.into(),
        };
        let writer = pipe.writable().get_writer()?;
        Ok((pipe.readable(), Client(Some(writer))))
    }

    /// Reads the answer to its end, and passes on all but its last bytes; one that breaks off is an
    /// error.
    pub(super) async fn pass_to(mut self, client: &mut Client) -> Result<Last> {
        for chunk in &self.first {
            client.write(chunk).await;
        }
        let mut last = None;
        while let Some(chunk) = self.rest.next().await? {
            let left = self
                .length
                .map(|left| left.saturating_sub(chunk.length().into()));
            self.length = left;
            match left {
                Some(0) => last = Some(chunk),
                _ => client.write(&chunk).await,
            }
        }
        Ok(Last(last))
    }
}

/// The bytes that complete an announced length: with them, the client has the whole answer.
pub(super) struct Last(Option<Uint8Array>);

/// The client, as long as it is there. One that is dropped before its [`end`](Self::end)
/// sees that its answer broke off.
pub(super) struct Client(Option<WritableStreamDefaultWriter>);

impl Client {
    /// One that was never there.
    pub(super) const NONE: Self = Self(None);

    async fn write(&mut self, chunk: &Uint8Array) {
        let Some(writer) = &self.0 else { return };
        let written = JsFuture::from(writer.write_with_chunk(chunk));
        if !matches!(within(PATIENCE_MS, written).await, Some(Ok(_))) {
            self.leave();
        }
    }

    /// Gives it the end, and with it the whole answer.
    pub(super) async fn end(mut self, last: Last) {
        if let Some(chunk) = &last.0 {
            self.write(chunk).await;
        }
        if let Some(writer) = self.0.take() {
            // It may have left without waiting for the end.
            let _ = within(PATIENCE_MS, JsFuture::from(writer.close())).await;
        }
    }

    /// Ends the stream as one that broke off.
    pub(super) fn leave(&mut self) {
        if let Some(writer) = self.0.take() {
            let why = Error::new(
                "the answer broke off, its end was not recorded, or its client takes no more of it",
            );
            let _ = writer.abort_with_reason(&why);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.leave();
    }
}
