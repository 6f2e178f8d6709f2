//! Which header fields pass, in which direction (rules K6 and P5).

use oncegate_core::forwarded::{forwarded_for, is_traceparent, new_traceparent};
use oncegate_core::header::{IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAYED, IDEMPOTENCY_STATUS};
use worker::{Headers, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::{loops, random};

/// Never forwarded, in either direction: they speak of one connection, not of the message.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Kept for a replay; everything else, cookies and challenges above all, belongs to the first
/// answer only.
const REPLAYED: [&str; 8] = [
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
];

/// What a client sent, without what must not reach the origin. `protected` requests also lose
/// conditions and ranges: the origin must do the same on every attempt.
pub(crate) fn towards_origin(
    arrived: &Arrived,
    protected: bool,
    config: &Config,
) -> Result<Headers> {
    let received = arrived.request.headers();
    let headers = without(received, |name| {
        matches!(name, "host" | "expect" | "content-length")
            || (name.starts_with("idempotency-") && name != IDEMPOTENCY_KEY)
            || (protected && is_conditional(name))
    })?;
    if protected {
        // A coded answer would be decoded on its way through, and not be the origin's bytes.
        headers.set("accept-encoding", "identity")?;
    }
    loops::mark(&headers, config)?;
    describe_way(arrived, &headers)?;
    Ok(headers)
}

/// Where the request comes from, whom it was sent to, and the trace that it belongs to.
fn describe_way(arrived: &Arrived, headers: &Headers) -> Result<()> {
    let received = arrived.request.headers();
    headers.set("x-forwarded-host", arrived.url.authority())?;
    headers.set("x-forwarded-proto", arrived.url.scheme())?;
    let chain = received.get("x-forwarded-for")?;
    match received.get("cf-connecting-ip")? {
        Some(address) => {
            headers.set(
                "x-forwarded-for",
                &forwarded_for(chain.as_deref(), &address),
            )?;
        }
        // Nobody says where it comes from, least of all the client.
        None => headers.delete("x-forwarded-for")?,
    }
    let trace = received.get("traceparent")?;
    if !trace.is_some_and(|trace| is_traceparent(&trace)) {
        headers.set("traceparent", &new_traceparent(&random::bytes()?))?;
        headers.delete("tracestate")?;
    }
    Ok(())
}

/// What the origin answered, without what speaks of its connection or in the gate's name.
pub(crate) fn towards_client(received: &Headers) -> Result<Headers> {
    without(received, |name| {
        matches!(
            name,
            "content-length" | IDEMPOTENCY_REPLAYED | IDEMPOTENCY_STATUS
        )
    })
}

/// Without hop-by-hop fields, the gate's own, and those that `dropped` names. Some origins take `_`
/// for `-`, so names are compared as they do.
fn without(received: &Headers, dropped: impl Fn(&str) -> bool) -> Result<Headers> {
    let named = connection_options(received)?;
    let headers = Headers::new();
    for (name, value) in received.entries() {
        let read_as = name.replace('_', "-");
        let is_dropped = HOP_BY_HOP.contains(&read_as.as_str())
            || read_as.starts_with("oncegate-")
            || (read_as != name && is_ours(&read_as))
            || named.contains(&name)
            || dropped(&read_as);
        if !is_dropped {
            headers.append(&name, &value)?;
        }
    }
    Ok(headers)
}

/// Fields that the gate writes itself, so that another spelling of them must not pass.
fn is_ours(name: &str) -> bool {
    name == IDEMPOTENCY_KEY || name.starts_with("x-forwarded-") || name.starts_with("trace")
}

/// Whether there are more fields, or more bytes in them, than allowed.
pub(crate) fn exceed(headers: &Headers, fields: usize, bytes: usize) -> bool {
    let sizes = headers
        .entries()
        .map(|(name, value)| name.len() + value.len());
    let (count, size) = sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size));
    count > fields || size > bytes
}

/// What a replay of this answer needs.
pub(crate) fn for_replay(received: &Headers) -> Result<Vec<(String, String)>> {
    let mut kept = Vec::new();
    for name in REPLAYED {
        if let Some(value) = received.get(name)? {
            kept.push((name.to_owned(), value));
        }
    }
    Ok(kept)
}

fn is_conditional(name: &str) -> bool {
    name == "range" || name.starts_with("if-")
}

/// The fields that `Connection` names: they are hop-by-hop too.
fn connection_options(headers: &Headers) -> Result<Vec<String>> {
    let value = headers.get("connection")?.unwrap_or_default();
    Ok(value
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase())
        .collect())
}
