//! Whose a request is: the tenant whose keys it names, and the principal who has to be the same on
//! every request of an operation.
//!
//! Invariant: look-up and cancellation find the same tenant and principal in the same header fields as
//! the request that claimed. Nothing is guessed: a value that is missing refuses the request.

use oncegate_core::identity::Identity;
use oncegate_core::jwt::Claims;
use oncegate_core::key::Key;
use oncegate_core::policy::{Attribute, Route, Scope};
use oncegate_core::principal::Principal;
use oncegate_core::problem::{Code, Problem};
use worker::Url;

use crate::arrived::Arrived;
use crate::config::Config;
use crate::refusal::Refusal;

/// Whose a request is.
pub(crate) struct Caller {
    /// The tenant: constant for the life of an operation, never the user.
    pub(crate) scope: String,
    pub(crate) principal: Option<Principal>,
}

impl Caller {
    /// Finds out whose a request is, in the way of its route.
    pub(crate) async fn of(
        arrived: &Arrived,
        route: &Route,
        config: &Config,
    ) -> Result<Self, Refusal> {
        Self::read(arrived, route, route.bind.as_ref(), config).await
    }

    /// The same for a request that may come before its sender has signed in: then it is nobody's.
    pub(crate) async fn without_bind(
        arrived: &Arrived,
        route: &Route,
        config: &Config,
    ) -> Result<Self, Refusal> {
        let is_there = |attribute: &&Attribute| match attribute {
            Attribute::Header(name) => arrived.fields.get(name).is_some(),
            Attribute::Claim(_) => {
                let jwt = config.jwt.as_ref();
                jwt.is_some_and(|jwt| arrived.fields.get(jwt.header()).is_some())
            }
        };
        let bind = route.bind.as_ref().filter(is_there);
        Self::read(arrived, route, bind, config).await
    }

    async fn read(
        arrived: &Arrived,
        route: &Route,
        bind: Option<&Attribute>,
        config: &Config,
    ) -> Result<Self, Refusal> {
        let claims = match (route.scope.reads_claims(bind), &config.jwt) {
            (true, Some(jwt)) => Some(jwt.verify(arrived).await?),
            _ => None,
        };
        let value = |attribute| value(arrived, claims.as_ref(), attribute);
        let scope = match &route.scope {
            Scope::Host => route.scope.text(&host(&arrived.url)),
            Scope::Tenant(attribute) => route.scope.text(&value(attribute)?),
        };
        let secret = config.identity_secret.as_bytes();
        let principal = match bind {
            Some(attribute) => Some(Principal::of(secret, &scope, &value(attribute)?)),
            None => None,
        };
        Ok(Self { scope, principal })
    }

    /// The identity of a key on a route: a client's key is the same on every route, a generated one is
    /// not.
    pub(crate) fn identity(&self, config: &Config, route: &Route, key: &Key) -> Identity {
        let secret = config.identity_secret.as_bytes();
        match route.generates_key() {
            true => Identity::of_generated(secret, &self.scope, &route.name, key),
            false => Identity::of_key(secret, &self.scope, key),
        }
    }
}

/// The host with its port, in one spelling: with a dot at its end it is the same one.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn value(
    arrived: &Arrived,
    claims: Option<&Claims>,
    attribute: &Attribute,
) -> Result<String, Refusal> {
    let missing = |reason: &str| {
        let reason = format!("{attribute} {reason}");
        Refusal::from(Problem::new(Code::ScopeMissing).because(reason))
    };
    let found = match attribute {
        Attribute::Header(name) => arrived.fields.get(name).map(str::to_owned),
        Attribute::Claim(name) => claims.and_then(|claims| claims.text(name)),
    };
    let found = found.ok_or_else(|| missing("is missing"))?;
    match attribute.check(&found) {
        Ok(value) => Ok(value.to_owned()),
        Err(fault) => Err(missing(&fault.to_string())),
    }
}
