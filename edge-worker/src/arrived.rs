//! A request as it has arrived.

use oncegate_core::policy::overrides::{is_override_header, query_overrides};
use oncegate_core::policy::{Policy, Route};
use worker::{Method, Result, Url};

use crate::fields::Fields;
use crate::wire::Incoming;

/// A request, with what is read off it once.
pub(crate) struct Arrived {
    pub(crate) request: web_sys::Request,
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) fields: Fields,
    /// The path as it was spelled: for matching, where spelling matters.
    pub(crate) raw_path: String,
    /// Path and query as they will be sent: for the fingerprint, the signature and the sending, which
    /// must be of the same text.
    pub(crate) path_and_query: String,
}

impl Arrived {
    /// `None` for a method that would be forwarded as another one.
    pub(crate) fn read(incoming: Incoming) -> Result<Option<Self>> {
        let method = Method::from(incoming.method.clone());
        if method.as_ref() != incoming.method {
            return Ok(None);
        }
        let url = Url::parse(&incoming.url)?;
        let raw_path = path_and_query(&incoming.url)
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned();
        let path_and_query = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Ok(Some(Self {
            fields: incoming.fields,
            request: incoming.request,
            method,
            url,
            raw_path,
            path_and_query,
        }))
    }

    /// Whether the request, without its body, asks an origin to read another method than its own.
    pub(crate) fn is_overridden(&self) -> bool {
        let mut names = self.fields.iter().map(|(name, _)| name);
        names.any(is_override_header) || query_overrides(self.url.query().unwrap_or_default())
    }

    /// Whether there is a body that a forwarded request of this method cannot have.
    pub(crate) fn has_forbidden_body(&self) -> bool {
        let bodiless = matches!(self.method, Method::Get | Method::Head);
        bodiless && self.request.body().is_some()
    }

    /// Those of the named header fields that the request has.
    pub(crate) fn headers_of<'a>(&'a self, names: &'a [String]) -> Vec<(&'a str, &'a str)> {
        let named = names.iter().map(String::as_str);
        named
            .filter_map(|name| Some((name, self.fields.get(name)?)))
            .collect()
    }

    /// The value of a query's parameter; of several, the first.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let mut pairs = self.url.query_pairs();
        let (_, value) = pairs.find(|(asked, _)| asked == name)?;
        Some(value.into_owned())
    }

    /// The route that a question is about.
    pub(crate) fn asked_route<'a>(&self, policy: &'a Policy) -> Option<&'a Route> {
        let [name, path, method] = ["route", "path", "method"].map(|name| self.query(name));
        policy.asked(name.as_deref(), path.as_deref(), method.as_deref())
    }

    /// The value of a header, empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.fields.get(name).unwrap_or_default()
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
