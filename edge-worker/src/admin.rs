//! What a person may do to one operation: look at it, settle it, have its content forgotten.
//!
//! Every use is one line in the log: who (the secret's name, and the person it was said to be), what,
//! to which operation, why. A key is never logged, and told to nobody who did not bring it.

use oncegate_core::identity::Identity;
use oncegate_core::key::Key;
use oncegate_core::operation::Resolved;
use oncegate_core::policy::Route;
use oncegate_core::problem::{Code, Problem};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use worker::{Env, Method, Response, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::message::{Erase, Inspect, Resolve, ToShard};
use crate::wanted::{self, Word};
use crate::{answer, bearer, cron, log, shards};

/// Where one operation is found.
pub(crate) const OPERATIONS: &str = "/.oncegate/v1/admin/operations";

/// What a call asks for.
struct Asked {
    operation: Identity,
    question: ToShard,
    /// The person, and the reason, where something changes.
    word: Option<Word>,
}

pub(crate) async fn handle(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let secret = match bearer::name(arrived, config.admin_secrets.as_ref())? {
        Ok(secret) => secret,
        Err(problem) => return answer::problem(&problem),
    };
    let asked = match asked(arrived, config).await {
        Ok(asked) => asked,
        Err(problem) => return answer::problem(&problem),
    };
    let answer = shards::ask(env, config, &asked.operation, &asked.question).await;
    log(secret, &asked, answer.as_ref().ok());
    answer
}

/// The status says whether it was done: who was refused has asked as well.
fn log(secret: &str, asked: &Asked, answer: Option<&Response>) {
    let line = match &asked.question {
        ToShard::Resolve(resolve) => log::info("admin_resolve").with("outcome", resolve.outcome),
        ToShard::Erase(_) => log::info("admin_erase"),
        _ => log::info("admin_inspect"),
    };
    let line = line
        .operation(&asked.operation.reference())
        .with("secret", secret)
        .with("status", answer.map(Response::status_code));
    match &asked.word {
        Some(word) => line.with("actor", &word.actor).with("reason", &word.reason),
        None => line,
    }
    .write();
}

async fn asked(arrived: &Arrived, config: &Config) -> std::result::Result<Asked, Problem> {
    let path = arrived
        .raw_path
        .strip_prefix(OPERATIONS)
        .unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    match (&arrived.method, parts.as_slice()) {
        (Method::Get, [""]) => inspect(arrived, by_key(arrived, config)?),
        (Method::Get, ["", reference]) => inspect(arrived, by_reference(reference)?),
        (Method::Post, ["", reference, "resolve"]) => resolve(arrived, reference).await,
        (Method::Delete, ["", reference]) => erase(arrived, reference).await,
        _ => Err(Problem::new(Code::EndpointUnknown)),
    }
}

fn inspect(arrived: &Arrived, operation: Identity) -> std::result::Result<Asked, Problem> {
    Ok(Asked {
        operation,
        question: ToShard::Inspect(Inspect {
            operation: operation.reference(),
            answer: arrived.query("answer").is_some_and(|asked| asked == "1"),
        }),
        word: None,
    })
}

async fn resolve(arrived: &Arrived, reference: &str) -> std::result::Result<Asked, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        revision: u32,
        outcome: Resolved,
    }
    let operation = by_reference(reference)?;
    let (wanted, word) = read::<Wanted>(arrived).await?;
    Ok(Asked {
        operation,
        question: ToShard::Resolve(Resolve {
            operation: operation.reference(),
            revision: wanted.revision,
            outcome: wanted.outcome,
        }),
        word: Some(word),
    })
}

async fn erase(arrived: &Arrived, reference: &str) -> std::result::Result<Asked, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    let operation = by_reference(reference)?;
    let (Nothing {}, word) = read(arrived).await?;
    Ok(Asked {
        operation,
        question: ToShard::Erase(Erase {
            operation: operation.reference(),
        }),
        word: Some(word),
    })
}

/// What support has: the tenant and the key, and for a generated key its route; scope and key of a
/// claim; or what the log calls a slot of a job.
fn by_key(arrived: &Arrived, config: &Config) -> std::result::Result<Identity, Problem> {
    if let (Some(scope), Some(key)) = (arrived.query("claim_scope"), arrived.query("key")) {
        let key = Key::from_value(&key);
        let key = key.map_err(|error| Problem::new(Code::KeyInvalid).because(error))?;
        let secret = config.identity_secret.as_bytes();
        return Ok(Identity::of_claim(secret, &scope, &key));
    }
    if let (Some(job), Some(slot)) = (arrived.query("job"), arrived.query("slot")) {
        let run = arrived.query("run");
        return cron::admin::operation(&job, &slot, run.as_deref(), config);
    }
    let (Some(scope), Some(value)) = (arrived.query("scope"), arrived.query("key")) else {
        return Err(invalid(
            "name the operation: ?scope=<tenant>&key=<key>, with &route=<name> for a generated key; \
             ?claim_scope=<scope>&key=<key> for a claim; ?job=<job>&slot=<slot> for a job, with &run=<name> for one \
             that a person wanted; or its reference",
        ));
    };
    let key = Key::parse(&value)
        .or_else(|_| Key::parse(&format!("\"{value}\"")))
        .map_err(|error| Problem::new(Code::KeyInvalid).because(error))?;
    let secret = config.identity_secret.as_bytes();
    let route = route_of(arrived, config)?;
    let scope = route.scope.text(&scope);
    Ok(match route.generates_key() {
        true => Identity::of_generated(secret, &scope, &route.name, &key),
        false => Identity::of_key(secret, &scope, &key),
    })
}

/// The route that is named, or any if it makes no difference: a client's key is the same on every route
/// whose scope is of the same kind.
fn route_of<'a>(arrived: &Arrived, config: &'a Config) -> std::result::Result<&'a Route, Problem> {
    if let Some(name) = arrived.query("route") {
        let route = config.policy.route(Some(&name));
        return route.ok_or_else(|| Problem::new(Code::RouteUnknown));
    }
    let routes = config.policy.routes().iter();
    let mut clients = routes.filter(|route| !route.generates_key());
    let kind = |route: &Route| route.scope.text("");
    match clients.next() {
        Some(route) if clients.all(|other| kind(other) == kind(route)) => Ok(route),
        _ => Err(invalid("name the route as well: &route=<name>")),
    }
}

fn by_reference(reference: &str) -> std::result::Result<Identity, Problem> {
    Identity::parse(reference)
        .ok_or_else(|| invalid(&format!("'{reference}' is no reference of an operation")))
}

/// What more a person has to say than who it is and why.
async fn read<T: DeserializeOwned>(arrived: &Arrived) -> std::result::Result<(T, Word), Problem> {
    wanted::by_person(arrived)
        .await
        .map_err(|reason| invalid(&reason))
}

fn invalid(reason: &str) -> Problem {
    Problem::new(Code::RequestInvalid).because(reason)
}
