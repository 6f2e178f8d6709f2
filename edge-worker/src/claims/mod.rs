//! Claims, for consumers and jobs anywhere (section 7, decision 21).
//!
//! Invariant: each item is answered by itself. One whose shard does not answer is said to be so, and
//! keeps none of the others; the call can be made again as it is.

pub(crate) mod message;

use futures_util::future::join_all;
use js_sys::Uint8Array;
use oncegate_core::claim::{Asked, Call, Item, Verb};
use oncegate_core::identity::Identity;
use oncegate_core::problem::{Code, Problem};
use worker::{Env, Error, Response, ResponseBuilder, Result};

use self::message::{Answered, Told, ToldItem, Wanted, WantedItem};
use crate::arrived::Arrived;
use crate::config::Config;
use crate::message::ToShard;
use crate::platform::now_ms;
use crate::shards::{self, ShardRequest};
use crate::{answer, bearer, body, log, tally};

/// A hundred items with the longest results, and room for how JSON writes them.
const LARGEST_CALL_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) async fn handle(
    arrived: &Arrived,
    verb: Verb,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    let began_ms = now_ms();
    if let Err(problem) = bearer::name(arrived, config.claims_secrets.as_ref())? {
        return answer::problem(&problem);
    }
    let call = match read(arrived, verb).await {
        Ok(call) => call,
        Err(problem) => return answer::problem(&problem),
    };
    let answered = answered(&call, verb, env, config).await?;
    count(&answered, began_ms);
    ResponseBuilder::new()
        .with_header("cache-control", "no-store")?
        .from_json(&Answered { items: answered })
}

async fn read(arrived: &Arrived, verb: Verb) -> std::result::Result<Call, Problem> {
    let invalid = |reason: String| Problem::new(Code::RequestInvalid).because(reason);
    let body = body::whole_request(arrived, LARGEST_CALL_BYTES).await;
    let body = body.map_err(|_| invalid(format!("it has at most {LARGEST_CALL_BYTES} bytes")))?;
    let bytes = Uint8Array::new(&body).to_vec();
    let asked: Asked =
        serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    Call::read(asked, verb, now_ms()).map_err(|error| invalid(error.to_string()))
}

/// What each item is answered, in the order of the call.
async fn answered(call: &Call, verb: Verb, env: &Env, config: &Config) -> Result<Vec<ToldItem>> {
    let mut told: Vec<Option<Told>> = call.items.iter().map(|_| None).collect();
    let mut shards: Vec<Part> = Vec::new();
    for (index, item) in call.items.iter().enumerate() {
        match &item.key {
            Err(reason) => told[index] = Some(Told::invalid(reason)),
            // The one before it holds the claim: this copy of the message is a duplicate.
            Ok(_) if item.is_again && verb == Verb::Claim => {
                told[index] = Some(Told::held_by_this_call(call.lease_ms));
            }
            Ok(key) => {
                let secret = config.identity_secret.as_bytes();
                let operation = Identity::of_claim(secret, &call.scope, key);
                put(&mut shards, operation, index, item);
            }
        }
    }
    let asked = shards.iter().map(|part| part.ask(call, verb, env, config));
    for (part, answers) in shards.iter().zip(join_all(asked).await) {
        for (index, answer) in part.indexes.iter().zip(answers?) {
            told[*index] = Some(answer);
        }
    }
    let items = call.items.iter().zip(told);
    Ok(items
        .map(|(item, told)| ToldItem::new(item, told))
        .collect())
}

/// The items of one shard.
struct Part {
    first: Identity,
    indexes: Vec<usize>,
    items: Vec<WantedItem>,
}

fn put(shards: &mut Vec<Part>, operation: Identity, index: usize, item: &Item) {
    let wanted = WantedItem {
        operation: operation.reference(),
        sent_ms: item.sent_ms,
        owner: item.owner.clone(),
        result: item.result.clone(),
    };
    let shard = operation.shard();
    match shards.iter_mut().find(|part| part.first.shard() == shard) {
        Some(part) => {
            part.indexes.push(index);
            part.items.push(wanted);
        }
        None => shards.push(Part {
            first: operation,
            indexes: vec![index],
            items: vec![wanted],
        }),
    }
}

impl Part {
    /// Asks the shard. A call that is made again is the same call: nothing is claimed or done twice.
    async fn ask(&self, call: &Call, verb: Verb, env: &Env, config: &Config) -> Result<Vec<Told>> {
        let wanted = Wanted {
            verb: verb.into(),
            scope: call.scope.clone(),
            maker: call.maker,
            lease_ms: call.lease_ms,
            items: self.items.clone(),
        };
        let text = serde_json::to_vec(&wanted)?;
        let request = ShardRequest {
            body: Some(Uint8Array::from(text.as_slice()).buffer()),
            ..ShardRequest::message(&ToShard::Claims)?
        };
        let answer = shards::call(env, config, &self.first, &request).await?;
        if answer.status_code() != 200 {
            let unavailable =
                Told::refused(&Problem::new(Code::GateUnavailable).retry_after(1_000));
            return Ok(vec![unavailable; self.items.len()]);
        }
        let message::Heard {
            items,
            rows_written,
        } = answer.read().await?;
        tally::rows_written(rows_written);
        match items.len() == self.items.len() {
            true => Ok(items),
            false => Err(Error::from("a shard that has answered some items only")),
        }
    }
}

fn count(items: &[ToldItem], began_ms: u64) {
    for item in items {
        tally::claimed(&item.told, began_ms);
        if item.told.answer == message::REFUSED {
            let line = log::warn("claim_refused").with("code", &item.told.code);
            match &item.told.operation {
                Some(operation) => line.operation(operation),
                None => line,
            }
            .write();
        }
    }
}
