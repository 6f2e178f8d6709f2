//! The request of an operation that the gate has to finish by itself, as it lies in the store.
//!
//! Invariant: no credential of the client's is kept. A request that is too large for a row is kept
//! without its body: then the ledger can be asked about it, but not be sent it again.

use js_sys::ArrayBuffer;
use oncegate_core::key::Key;
use oncegate_core::proof::Origin;
use oncegate_store::StoredRequest;
use serde::{Deserialize, Serialize};
use worker::{Error, Result};

use crate::arrived::path_and_query;
use crate::errand::Body;
use crate::fields::Fields;
use crate::message::Claim;
use crate::store::Bytes;
use crate::wire::Told;

/// What is not kept: it is the client's alone, or about this one connection.
const NOT_KEPT: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// The largest body of a request in a row. Rows hold 2 MB, and the record and the header fields, of which
/// the gate takes few, are in it too.
const LARGEST_BODY_BYTES: u32 = 1_900_000;

/// A request that the gate can send by itself.
pub(crate) struct Sendable {
    pub(crate) head: Head,
    body: Option<ArrayBuffer>,
}

/// All but its body.
#[derive(Deserialize, Serialize)]
pub(crate) struct Head {
    /// The key as the origin sees it: a row's identity does not tell it.
    pub(crate) key: String,
    method: String,
    pub(crate) path_and_query: String,
    headers: Vec<(String, String)>,
    /// Whether the request can be sent again.
    whole: bool,
}

impl Sendable {
    /// Whether a request is kept with its body. Only a ledger may be sent it again, so for others the
    /// key is enough.
    pub(crate) fn is_kept_whole(claim: &Claim) -> bool {
        let terms = &claim.terms;
        let fits = claim.body_bytes <= LARGEST_BODY_BYTES;
        terms.finish && terms.origin == Origin::Ledger && fits
    }

    /// What is kept of a request, without what comes in the header field of tokens. One whose body was
    /// not read is kept without it.
    pub(crate) fn new(
        told: &Told,
        claim: &Claim,
        body: &Body,
        tokens: Option<&str>,
    ) -> Result<Self> {
        let mut head = Head {
            key: claim.key.clone(),
            method: told.method.clone(),
            path_and_query: path_and_query(&told.url).to_owned(),
            headers: Vec::new(),
            whole: false,
        };
        let Body::Read(bytes) = body else {
            return Ok(Self { head, body: None });
        };
        let fields = told.fields()?;
        head.headers = fields
            .iter()
            .filter(|(name, _)| !NOT_KEPT.contains(name) && tokens != Some(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        head.whole = true;
        Ok(Self {
            head,
            body: bytes.clone(),
        })
    }

    pub(crate) fn read(stored: StoredRequest<Bytes>) -> Result<Self> {
        Ok(Self {
            head: serde_json::from_str(&stored.head)?,
            body: stored.body,
        })
    }

    pub(crate) fn stored(&self) -> Result<StoredRequest<Bytes>> {
        Ok(StoredRequest {
            head: serde_json::to_string(&self.head)?,
            body: self.body.clone(),
        })
    }

    /// The key's own text, without the quotes that a header needs.
    pub(crate) fn key(&self) -> Result<String> {
        let key = Key::parse(&self.head.key).map_err(|error| Error::from(error.to_string()))?;
        Ok(key.as_str().to_owned())
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.head.whole
    }

    pub(crate) fn method(&self) -> &str {
        &self.head.method
    }

    pub(crate) fn fields(&self) -> Fields {
        self.head.headers.iter().cloned().collect()
    }

    pub(crate) fn body(&self) -> Option<ArrayBuffer> {
        self.body.clone()
    }
}
