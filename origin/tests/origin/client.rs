//! A client that speaks HTTP over a bare socket, so that it sees what a library would hide: a
//! connection that closes without a byte, or a request that is cut.

use std::net::SocketAddr;

use oncegate_core::fingerprint::{Fingerprint, Parts, body_sha256};
use oncegate_core::key::KeyKind;
use oncegate_core::signature::{Claims, Secrets};
use oncegate_origin::clock::now_ms;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const SECRETS: &str = "test=0123456789abcdef";
pub(crate) const CARD: &str = "4242 4242 4242 4242";
pub(crate) const DECLINED_CARD: &str = "4000 0000 0000 0002";

/// An answer as it came over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn outcome(&self) -> Option<&str> {
        self.header("idempotency-outcome")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// What a replay must repeat to the byte.
    pub(crate) fn stored(&self) -> (u16, Option<&str>, Option<&str>, &[u8]) {
        let (kind, location) = (self.header("content-type"), self.header("location"));
        (self.status, kind, location, &self.body)
    }
}

/// A call as the gate makes it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) path: String,
    pub(crate) key: String,
    pub(crate) attempt: u32,
    pub(crate) kind: KeyKind,
    pub(crate) body: String,
}

impl Call {
    /// An order of one mug with a good card.
    pub(crate) fn order(key: &str) -> Self {
        Self {
            path: "/orders".into(),
            key: key.into(),
            attempt: 1,
            kind: KeyKind::Client,
            body: order(&[("mug", 1)], CARD),
        }
    }

    /// A call of another endpoint.
    pub(crate) fn at(path: &str, key: &str, body: &str) -> Self {
        Self {
            path: path.into(),
            body: body.into(),
            ..Self::order(key)
        }
    }

    pub(crate) fn with_body(self, body: String) -> Self {
        Self { body, ..self }
    }

    pub(crate) fn with_kind(self, kind: KeyKind) -> Self {
        Self { kind, ..self }
    }

    /// The probe or cancel of this call: same key, same fingerprint.
    pub(crate) fn headers_for(&self, path: &str) -> Vec<(&'static str, String)> {
        let fingerprint = self.fingerprint().to_string();
        let operation = "op_0123456789012345678901234567890123456789012".to_owned();
        let attempt = self.attempt.to_string();
        let claims = Claims {
            method: "POST",
            path_and_query: path,
            key: &self.key,
            attempt: &attempt,
            operation: &operation,
            key_kind: self.kind.as_str(),
            fingerprint: &fingerprint,
        };
        let signature = Secrets::parse(SECRETS).unwrap().sign(now_ms(), &claims);
        vec![
            ("idempotency-key", self.key.clone()),
            ("oncegate-attempt", attempt),
            ("oncegate-operation", operation),
            ("oncegate-key-kind", self.kind.as_str().to_owned()),
            ("oncegate-fingerprint", fingerprint),
            ("oncegate-signature", signature),
        ]
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&Parts {
            method: "POST",
            path_and_query: &self.path,
            content_type: "application/json",
            content_encoding: "",
            body_sha256: body_sha256(self.body.as_bytes()),
        })
    }

    pub(crate) fn request(&self) -> Vec<u8> {
        request(
            "POST",
            &self.path,
            &self.headers_for(&self.path),
            self.body.as_bytes(),
        )
    }
}

/// A body of `POST /orders`.
pub(crate) fn order(cart: &[(&str, u32)], card: &str) -> String {
    let line = |(sku, quantity): &(&str, u32)| json!({ "sku": sku, "quantity": quantity });
    json!({
        "cart": cart.iter().map(line).collect::<Vec<_>>(),
        "card": { "number": card, "expiry": "12/30", "cvc": "123" },
        "email": "a@b.c",
    })
    .to_string()
}

pub(crate) fn request(
    method: &str,
    path: &str,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("content-length: {}\r\n\r\n", body.len());
    [text.as_bytes(), body].concat()
}

/// Sends the bytes and reads until the server closes. A reset counts as the end: it is what a
/// server's kernel sends when it closes a socket that was not read to its end.
pub(crate) async fn exchange(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.expect("a listening shop");
    stream.write_all(request).await.expect("a shop that reads");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

pub(crate) fn parse(answer: &[u8]) -> Response {
    let end = answer
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .expect("a whole head");
    let head = std::str::from_utf8(&answer[..end]).expect("a textual head");
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .expect("a status");
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").expect("a header");
        (name.to_owned(), value.to_owned())
    };
    Response {
        status: status.parse().expect("a number"),
        headers: lines.map(header).collect(),
        body: answer[end + 4..].to_vec(),
    }
}
