//! Which requests are protected, and how.
//!
//! The policy is read once, when the gate starts; a policy that could be misread does not start.
//! Every error names the route and the field.

mod answers;
mod ask;
mod config;
mod content_type;
mod error;
mod fingerprint;
mod names;
mod origins;
mod outcome;
pub mod overrides;
mod path;
mod route;
mod source;
mod tenant;
mod times;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub use self::answers::{Answers, LARGEST_STORED_BYTES};
pub use self::ask::{Ask, AskConfig};
pub use self::config::{InFlight, KeyUse, Mode, RouteConfig, Store, TokenUse};
pub(crate) use self::content_type::is_form;
use self::content_type::is_json;
use self::error::Fault;
pub use self::error::PolicyError;
pub use self::fingerprint::FingerprintMode;
pub(crate) use self::names::header_name;
pub use self::origins::{OriginConfig, Origins, Place};
pub use self::outcome::{Otherwise, OutcomeConfig, Value};
use self::path::Readings;
pub use self::route::{OWN_PREFIX, Route};
pub use self::source::{Asked, KeyFault, KeyFrom, MissingKey, named_key};
pub use self::tenant::{Attribute, BindConfig, Scope, ScopeConfig, ValueFault};
pub use self::times::{HARD_TIMEOUT_MS, STORE_DEADLINE_MS};

/// The routes of a gate.
#[derive(Clone, Debug)]
pub struct Policy {
    routes: Vec<Route>,
}

/// What the policy says of a request.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Match<'a> {
    /// A lenient origin might read the path, or the method, as one that this route protects (rule K5).
    NotCanonical(&'a Route),
    /// Not protected under its own method; under another one it is, by this route.
    OtherMethod(&'a Route),
    /// Protected.
    Protected(&'a Route),
    /// Not protected.
    Unprotected,
}

impl Policy {
    /// Checks the routes, each and against each other. `has_tokens` says that tokens are verified, so
    /// that claims can be used.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] names the route and the field.
    pub fn new(routes: &[RouteConfig], has_tokens: bool) -> Result<Self, PolicyError> {
        let routes = routes.iter().map(|route| Route::new(route, has_tokens));
        let routes = routes.collect::<Result<Vec<_>, _>>()?;
        if routes.is_empty() {
            let reason = "are missing; without one, every request passes unprotected";
            return Err(Fault::new("routes", reason).at(String::new()));
        }
        for (index, route) in routes.iter().enumerate() {
            for earlier in &routes[..index] {
                check_pair(earlier, route).map_err(|fault| fault.at(route.place()))?;
            }
        }
        Ok(Self { routes })
    }

    /// Every route, in the order of the configuration.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The route of that name; without a name, the only route there is.
    pub fn route(&self, name: Option<&str>) -> Option<&Route> {
        match (name, self.routes.as_slice()) {
            (Some(name), routes) => routes.iter().find(|route| route.name == name),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    /// The route that a question is about. The question names the route; or the request that it is about, by path and, where
    /// routes share the path, method; or nothing, where there is one route only. `None` if that leaves several.
    pub fn asked(
        &self,
        name: Option<&str>,
        path: Option<&str>,
        method: Option<&str>,
    ) -> Option<&Route> {
        let of_request = |path| match method {
            Some(method) => match self.find(method, path, false) {
                Match::Protected(route) => Some(route),
                _ => None,
            },
            None => self.only_of(path),
        };
        match name {
            Some(_) => self.route(name),
            None => path.and_then(of_request).or_else(|| self.route(None)),
        }
    }

    /// The only route of a path, whatever the method.
    fn only_of(&self, path: &str) -> Option<&Route> {
        let route = self.routes.iter().find(|route| route.is_exactly(path))?;
        (!self.has_other(route, path)).then_some(route)
    }

    /// Finds the route of a request. `path` is as received, without the query; `overridden` says
    /// that a header field or the query asks for another method.
    pub fn find(&self, method: &str, path: &str, overridden: bool) -> Match<'_> {
        let routes = || self.routes.iter();
        let readings = Readings::of(path);
        let may_match = |route: &&Route| route.pattern.may_match(&readings);
        let takes = |route: &&Route| overridden || route.takes(method);
        match routes().filter(takes).find(may_match) {
            Some(route) if !overridden && route.is_exactly(path) => Match::Protected(route),
            Some(route) => Match::NotCanonical(route),
            None => match routes().find(may_match) {
                Some(route) => Match::OtherMethod(route),
                None => Match::Unprotected,
            },
        }
    }

    /// Whether a body of this type has to be looked into for a field that overrides the method. A form
    /// always; JSON, which is seldom read so, only where another route protects the path as well.
    pub fn looks_into(&self, route: &Route, path: &str, content_type: &str) -> bool {
        if !overrides::may_override(content_type) {
            return false;
        }
        !is_json(content_type) || (self.routes.len() > 1 && self.has_other(route, path))
    }

    fn has_other(&self, route: &Route, path: &str) -> bool {
        let readings = Readings::of(path);
        let mut others = self.routes.iter().filter(|other| other.name != route.name);
        others.any(|other| other.pattern.may_match(&readings))
    }
}

fn check_pair(earlier: &Route, route: &Route) -> Result<(), Fault> {
    if earlier.name == route.name {
        return Err(Fault::new("name", "is an earlier route's"));
    }
    if earlier.overlaps(route) {
        let reason = format!("matches requests that route '{}' matches too", earlier.name);
        return Err(Fault::new("path", reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
