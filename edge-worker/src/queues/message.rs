//! A message as the request that it stands for: from there on it is a request like all others.

use js_sys::{Array, ArrayBuffer};
use oncegate_core::policy::Route;
use oncegate_core::queue::{Fate, Queue};
use wasm_bindgen::prelude::*;
use worker::{Env, Error, MessageExt, RawMessage, Result};

use super::fate;
use crate::arrived::Arrived;
use crate::config::Config;
use crate::fields::Fields;
use crate::platform::{self, now_ms};
use crate::wire::Incoming;
use crate::{gate, log, tally};

pub(super) async fn deliver(
    message: &RawMessage,
    queue: &Queue,
    route: &Route,
    env: &Env,
    config: &Config,
) -> Result<Fate> {
    let began_ms = now_ms();
    let arrived = match arrive(message, queue)? {
        Ok(arrived) => arrived,
        Err(reason) => {
            let line = log::warn("message_poison").with("route", &route.name);
            line.with("message", message.id()).detail(reason).write();
            return Ok(Fate::Poison);
        }
    };
    let answer = gate::protect(&arrived, route, env, config).await?.into();
    tally::decided(&route.name, "enforce", &answer, began_ms);
    Ok(fate(message, answer, route))
}

/// The request; or why this message can never be one.
fn arrive(message: &RawMessage, queue: &Queue) -> Result<std::result::Result<Arrived, String>> {
    let Ok(carried) = platform::carried(&message.body()) else {
        return Ok(Err("its body is neither JSON nor text nor bytes".to_owned()));
    };
    let (content_type, body) = parts(&carried)?;
    let key = match queue.key(&message.id(), &platform::bytes(&body)) {
        Ok(key) => key,
        Err(reason) => return Ok(Err(reason.to_string())),
    };
    let mut fields = Fields::default();
    fields.set("content-type", content_type);
    fields.set(queue.key_header(), key.to_header());
    let request = platform::request(&queue.url(), queue.method(), &fields.written()?, &body)?;
    let arrived = Arrived::read(Incoming::read(request)?)?;
    Ok(arrived.ok_or_else(|| "its method cannot be forwarded".to_owned()))
}

fn parts(carried: &Array) -> Result<(String, ArrayBuffer)> {
    let content_type = carried.get(0).as_string();
    let content_type = content_type.ok_or_else(|| Error::from("a body without a type"))?;
    Ok((content_type, carried.get(1).dyn_into()?))
}
