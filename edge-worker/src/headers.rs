//! Which header fields pass, in which direction (rules K6 and P5).

use std::borrow::Cow;

use oncegate_core::forwarded::{forwarded_for, is_traceparent, new_traceparent};
use oncegate_core::header::{IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAYED, IDEMPOTENCY_STATUS, REPLAYED};
use worker::Result;

use crate::arrived::Arrived;
use crate::config::Config;
use crate::fields::Fields;
use crate::{loops, web_crypto};

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

/// Never forwarded to an origin: with these a request says that it has another path, or came another
/// way, than the gate has decided on.
const MISLEADING: [&str; 6] = [
    "forwarded",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-server",
    "x-original-url",
    "x-rewrite-url",
];

/// What a client sent, without what must not reach the origin. `protected` requests also lose
/// conditions and ranges: the origin must do the same on every attempt.
pub(crate) fn towards_origin(
    arrived: &Arrived,
    protected: bool,
    config: &Config,
) -> Result<Fields> {
    let mut fields = without(&arrived.fields, |name| {
        matches!(name, "host" | "expect" | "content-length")
            || MISLEADING.contains(&name)
            || (name.starts_with("idempotency-") && name != IDEMPOTENCY_KEY)
            || (protected && is_conditional(name))
    });
    for name in second_spellings(&arrived.fields) {
        fields.remove(name);
    }
    if protected {
        fields.drop_unreadable();
        // A coded answer would be decoded on its way through, and not be the origin's bytes.
        fields.set("accept-encoding", "identity");
    }
    loops::mark(&mut fields, loops::via(arrived), config);
    describe_way(arrived, &mut fields)?;
    Ok(fields)
}

/// Those of a request that the gate makes itself, with a body of JSON.
pub(crate) fn of_the_gate(config: &Config) -> Result<Fields> {
    let mut fields = Fields::default();
    fields.set("accept-encoding", "identity");
    fields.set("content-type", "application/json");
    fields.set("traceparent", new_traceparent(&web_crypto::random_bytes()?));
    loops::mark(&mut fields, "", config);
    Ok(fields)
}

/// Where the request comes from, whom it was sent to, and the trace that it belongs to.
fn describe_way(arrived: &Arrived, fields: &mut Fields) -> Result<()> {
    let received = &arrived.fields;
    fields.set("x-forwarded-host", arrived.url.authority());
    fields.set("x-forwarded-proto", arrived.url.scheme());
    let chain = received.get("x-forwarded-for");
    match received.get("cf-connecting-ip") {
        Some(address) => fields.set("x-forwarded-for", forwarded_for(chain, address)),
        // Nobody says where it comes from, least of all the client.
        None => fields.remove("x-forwarded-for"),
    }
    if !received.get("traceparent").is_some_and(is_traceparent) {
        fields.set("traceparent", new_traceparent(&web_crypto::random_bytes()?));
        fields.remove("tracestate");
    }
    Ok(())
}

/// What the origin answered, without what speaks of its connection or in the gate's name.
pub(crate) fn towards_client(received: &Fields) -> Fields {
    without(received, |name| {
        matches!(
            name,
            "content-length" | IDEMPOTENCY_REPLAYED | IDEMPOTENCY_STATUS
        )
    })
}

/// Without hop-by-hop fields, the gate's own, and those that `dropped` names. They are compared as origins
/// read them.
fn without(received: &Fields, dropped: impl Fn(&str) -> bool) -> Fields {
    let named = connection_options(received);
    let passes = |name: &str| {
        let read_as = read_as(name);
        let is_dropped = HOP_BY_HOP.contains(&&*read_as)
            || read_as.starts_with("oncegate-")
            || (read_as != name && is_ours(&read_as))
            || named.iter().any(|named| named == name)
            || dropped(&read_as);
        !is_dropped
    };
    let passed = received.iter().filter(|(name, _)| passes(name));
    passed
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Fields that some origins take for another one that is there, such as the tenant's that the gate has read.
fn second_spellings(received: &Fields) -> impl Iterator<Item = &str> {
    let names = received.iter().map(|(name, _)| name);
    names.filter(|name| {
        let read_as = read_as(name);
        read_as != *name && received.get(&read_as).is_some()
    })
}

/// A name as origins read it that get header fields as variables: those have letters, digits and `_`, which
/// stands for whatever else is in a name.
fn read_as(name: &str) -> Cow<'_, str> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '-';
    match name.chars().all(is_plain) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(name.replace(|character| !is_plain(character), "-")),
    }
}

/// Fields that the gate writes itself, so that another spelling of them must not pass.
fn is_ours(name: &str) -> bool {
    name == IDEMPOTENCY_KEY || name.starts_with("x-forwarded-") || name.starts_with("trace")
}

/// Whether there are more fields, or more bytes in them, than allowed.
pub(crate) fn exceed(received: &Fields, fields: usize, bytes: usize) -> bool {
    received.iter().count() > fields || received.size() > bytes
}

/// What a replay of this answer needs, and what its route adds to that.
pub(crate) fn for_replay(received: &Fields, more: &[String]) -> Vec<(String, String)> {
    let names = REPLAYED.iter().copied();
    named(received, names.chain(more.iter().map(String::as_str)))
}

/// The fields of these names.
pub(crate) fn named<'a>(
    received: &Fields,
    names: impl Iterator<Item = &'a str>,
) -> Vec<(String, String)> {
    names
        .filter_map(|name| Some((name.to_owned(), received.get(name)?.to_owned())))
        .collect()
}

fn is_conditional(name: &str) -> bool {
    name == "range" || name.starts_with("if-")
}

/// The fields that `Connection` names: they are hop-by-hop too.
fn connection_options(received: &Fields) -> Vec<String> {
    let value = received.get("connection").unwrap_or_default();
    value
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase())
        .collect()
}
