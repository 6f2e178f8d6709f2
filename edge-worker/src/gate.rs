//! Where a client's request goes: to the gate's own endpoints, to a shard, or through.

use oncegate_core::policy::{METHOD_OVERRIDE_HEADERS, Match, OWN_PREFIX};
use oncegate_core::problem::{Code, Problem};
use wasm_bindgen::JsValue;
use worker::{Env, Method, Request, Response, Result, Url};

use crate::config::Config;
use crate::protect::{self, Checked};
use crate::{answer, cors, endpoints, proxy, shards};

/// A request, with what is read off it once.
pub(crate) struct Arrived {
    pub(crate) request: Request,
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// The path as it was spelled: for matching, where spelling matters.
    pub(crate) raw_path: String,
    /// Path and query as they will be sent: for the fingerprint, the signature and the sending, which
    /// must be of the same text.
    pub(crate) path_and_query: String,
}

pub(crate) async fn handle(request: Request, env: &Env, config: &Config) -> Result<Response> {
    let Some(arrived) = Arrived::read(request)? else {
        return answer::problem(&Problem::new(Code::MethodUnsupported));
    };
    let page = cors::allowed(&arrived, config)?;
    if let Some(page) = &page
        && let Some(response) = cors::preflight(&arrived, page, config)?
    {
        return Ok(response);
    }
    match (answer(&arrived, env, config).await?, page) {
        (Answered::Gate(response), Some(page)) => cors::open(response, &page),
        (Answered::Gate(response) | Answered::Origin(response), _) => Ok(response),
    }
}

/// Who answers for a response.
enum Answered {
    Gate(Response),
    Origin(Response),
}

async fn answer(arrived: &Arrived, env: &Env, config: &Config) -> Result<Answered> {
    if arrived.raw_path.starts_with(OWN_PREFIX) {
        return endpoints::handle(arrived, env, config)
            .await
            .map(Answered::Gate);
    }
    let (method, overridden) = (arrived.method.as_ref(), arrived.is_overridden());
    let response = match config.policy.find(method, &arrived.raw_path, overridden) {
        Match::NotCanonical => answer::problem(&Problem::new(Code::PathNotCanonical)),
        Match::Protected(route) => match protect::check(arrived, route, config).await? {
            Checked::Claim(operation, request) => {
                shards::call(env, config, &operation, &request).await
            }
            Checked::Problem(problem) => answer::problem(&problem),
            Checked::Unkeyed(body) => return pass(arrived, body.map(Into::into), config).await,
        },
        Match::Unprotected => {
            let body = arrived.request.inner().body();
            return pass(arrived, body.map(Into::into), config).await;
        }
    };
    response.map(Answered::Gate)
}

async fn pass(arrived: &Arrived, body: Option<JsValue>, config: &Config) -> Result<Answered> {
    proxy::pass(arrived, body, config)
        .await
        .map(Answered::Origin)
}

impl Arrived {
    /// `None` for a method that would be forwarded as another one.
    fn read(request: Request) -> Result<Option<Self>> {
        let method = request.method();
        if method.as_ref() != request.inner().method() {
            return Ok(None);
        }
        let url = request.url()?;
        let raw = request.inner().url();
        let raw_path = path_and_query(&raw)
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned();
        let path_and_query = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Ok(Some(Self {
            request,
            method,
            url,
            raw_path,
            path_and_query,
        }))
    }

    fn is_overridden(&self) -> bool {
        let headers = self.request.headers();
        METHOD_OVERRIDE_HEADERS
            .iter()
            .any(|name| headers.has(name).unwrap_or(true))
    }

    /// The value of a header, empty if there is none.
    pub(crate) fn header(&self, name: &str) -> Result<String> {
        Ok(self.request.headers().get(name)?.unwrap_or_default())
    }
}

/// What follows the authority in an absolute URL, exactly as it is spelled.
pub(crate) fn path_and_query(url: &str) -> &str {
    let after_scheme = url.find("://").map_or(url, |index| &url[index + 3..]);
    let path = after_scheme
        .find(['/', '?'])
        .map_or("/", |index| &after_scheme[index..]);
    path.split('#').next().unwrap_or(path)
}
