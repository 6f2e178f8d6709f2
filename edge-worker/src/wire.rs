//! Requests and answers as they travel: from the client, to the origin, and between the gate's own parts.
//!
//! Invariant: what is answered comes back as it was sent. The platform's defaults would follow a
//! redirect, sending the request once more, and would undo and redo content codings on the way. An
//! answer is passed on as the object that it came as, and not taken apart.

use std::cell::OnceCell;

use js_sys::futures::JsFuture;
use oncegate_core::header;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;
use worker::{EncodeBody, Error, Result};

use crate::answer::REMEMBER;
use crate::courier::SUPERSEDED;
use crate::fields::Fields;
use crate::platform::{self, Service};
use crate::sealing::SEALED;

/// A request that has arrived, with what is read off it once.
pub(crate) struct Incoming {
    pub(crate) request: web_sys::Request,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) fields: Fields,
}

impl Incoming {
    pub(crate) fn read(request: web_sys::Request) -> Result<Self> {
        let head = platform::head(&request)?;
        let mut lines = head.splitn(3, '\n');
        let mut next = || lines.next().unwrap_or_default();
        Ok(Self {
            method: next().to_owned(),
            url: next().to_owned(),
            fields: Fields::read(next())?,
            request,
        })
    }
}

/// A call to an object: a message, and the header fields that came with it, still as one text.
pub(crate) struct Told {
    pub(crate) request: web_sys::Request,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) message: String,
    pub(crate) enclosed: String,
}

impl Told {
    pub(crate) fn read(request: web_sys::Request) -> Result<Self> {
        let text = platform::told(&request)?;
        let mut lines = text.splitn(4, '\n').map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        Ok(Self {
            method: next(),
            url: next(),
            message: next(),
            enclosed: next(),
            request,
        })
    }

    pub(crate) fn fields(&self) -> Result<Fields> {
        Fields::read(&self.enclosed)
    }
}

/// A request that the gate makes. It can be sent more than once, unless its body is a stream.
pub(crate) struct Call {
    url: String,
    method: String,
    headers: JsValue,
    body: JsValue,
}

impl Call {
    /// With this body: a stream, bytes, or text.
    pub(crate) fn new(
        url: impl Into<String>,
        method: impl Into<String>,
        fields: &Fields,
        body: Option<JsValue>,
    ) -> Result<Self> {
        Ok(Self {
            url: url.into(),
            method: method.into(),
            headers: fields.written()?.into(),
            body: body.unwrap_or_default(),
        })
    }

    fn send(&self, service: Option<&Service>) -> js_sys::Promise {
        platform::send(service, &self.url, &self.method, &self.headers, &self.body)
    }
}

/// Sends a request to the server that its URL names.
pub(crate) async fn fetch(call: &Call) -> Result<Response> {
    Ok(Response::received(JsFuture::from(call.send(None)).await?))
}

/// Sends a request to a binding.
pub(crate) async fn call(service: &Service, call: &Call) -> Result<Response> {
    let sent = call.send(Some(service));
    Ok(Response::received(JsFuture::from(sent).await?))
}

/// The same, waited for at most `limit_ms`; `None` if it takes longer.
pub(crate) async fn call_within(
    limit_ms: u64,
    service: &Service,
    call: &Call,
) -> Option<Result<Response>> {
    let within = platform::within(limit_ms as f64, &call.send(Some(service)));
    match JsFuture::from(within).await {
        Ok(nothing) if nothing.is_undefined() => None,
        Ok(response) => Some(Ok(Response::received(response))),
        Err(error) => Some(Err(error.into())),
    }
}

/// An answer as the platform has it.
#[derive(Debug)]
pub(crate) struct Response {
    inner: web_sys::Response,
    marks: OnceCell<Marks>,
}

/// What an answer says of its operation.
#[derive(Debug)]
pub(crate) struct Marks {
    status: u16,
    pub(crate) operation: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) decision: Option<String>,
    pub(crate) sealed: Option<String>,
    pub(crate) superseded: Option<String>,
    pub(crate) remember: Option<String>,
}

const MARKS: [&str; 7] = [
    header::OPERATION,
    header::IDEMPOTENCY_STATUS,
    header::KEY_KIND,
    header::DECISION,
    SEALED,
    SUPERSEDED,
    REMEMBER,
];

impl Marks {
    fn new<'a>(status: u16, values: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut values = values.into_iter();
        let mut next = || {
            let value = values.next().flatten().filter(|value| !value.is_empty());
            value.map(str::to_owned)
        };
        Self {
            status,
            operation: next(),
            state: next(),
            kind: next(),
            decision: next(),
            sealed: next(),
            superseded: next(),
            remember: next(),
        }
    }

    fn read(response: &web_sys::Response) -> Self {
        let text = platform::marks(response, &MARKS.join("\n"));
        let mut lines = text.split('\n');
        let status = lines.next().and_then(|status| status.parse().ok());
        Self::new(status.unwrap_or_default(), lines.map(Some))
    }
}

impl Response {
    /// An answer with this body: a stream, or bytes. It is coded as its header says already.
    pub(crate) fn new(status: u16, fields: &Fields, body: Option<&JsValue>) -> Result<Self> {
        let inner = platform::respond(status, &fields.written()?, body.unwrap_or(&JsValue::NULL))?;
        let marks = Marks::new(status, MARKS.map(|name| fields.get(name)));
        Ok(Self {
            inner,
            marks: marks.into(),
        })
    }

    /// An answer of one part of the gate to another.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self> {
        let body = serde_json::to_string(value)?.into();
        Self::new(200, &Fields::default(), Some(&body))
    }

    fn received(response: JsValue) -> Self {
        Self {
            inner: response.unchecked_into(),
            marks: OnceCell::new(),
        }
    }

    pub(crate) fn inner(&self) -> &web_sys::Response {
        &self.inner
    }

    pub(crate) fn into_inner(self) -> web_sys::Response {
        self.inner
    }

    pub(crate) fn status_code(&self) -> u16 {
        self.marks().status
    }

    pub(crate) fn marks(&self) -> &Marks {
        self.marks.get_or_init(|| Marks::read(&self.inner))
    }

    /// Every header field.
    pub(crate) fn fields(&self) -> Result<Fields> {
        Fields::read(&platform::fields(&self.inner))
    }

    /// The same answer with some fields set, and others added to those of their names.
    pub(crate) fn changed(&self, set: &Fields, added: &Fields) -> Result<Self> {
        let changed = platform::changed(&self.inner, &set.written()?, &added.written()?)?;
        Ok(Self::received(changed.into()))
    }

    /// Reads what one part of the gate has answered to another.
    pub(crate) async fn read<T: DeserializeOwned>(self) -> Result<T> {
        let text = JsFuture::from(self.inner.text()?).await?;
        let text = text.as_string();
        let text = text.ok_or_else(|| Error::from("an answer that is no text"))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Lets go of an answer that nobody wants: whoever writes its body need not wait for a reader.
    pub(crate) fn discard(self) {
        if let Some(body) = self.inner.body() {
            // Whether the writer hears of it changes nothing.
            let _ = body.cancel();
        }
    }
}

impl From<worker::Response> for Response {
    fn from(response: worker::Response) -> Self {
        Self::received(web_sys::Response::from(response).into())
    }
}

impl From<Response> for worker::Response {
    fn from(response: Response) -> Self {
        Self::from(response.inner).with_encode_body(EncodeBody::Manual)
    }
}
