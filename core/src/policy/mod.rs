//! Which requests are protected, and how.
//!
//! The policy is read once, when the gate starts; a policy that could be misread does not start.
//! Every error names the route and the field.

mod error;
mod origins;
mod path;
mod route;
mod source;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use self::error::Fault;
pub use self::error::PolicyError;
pub use self::origins::{OriginConfig, Origins, Place};
use self::path::canonical;
pub use self::route::{HARD_TIMEOUT_MS, KeyUse, OWN_PREFIX, Route, RouteConfig, STORE_DEADLINE_MS};
pub use self::source::{Asked, FingerprintMode, KeyFault, KeyFrom, MissingKey};

/// Headers with which a client asks an origin to read another method than the request's.
pub const METHOD_OVERRIDE_HEADERS: [&str; 3] = [
    "x-http-method-override",
    "x-method-override",
    "x-http-method",
];

/// The routes of a gate.
#[derive(Clone, Debug)]
pub struct Policy {
    routes: Vec<Route>,
}

/// What the policy says of a request.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Match<'a> {
    /// A lenient origin might read the path as a protected one (rule K5).
    NotCanonical,
    /// Protected.
    Protected(&'a Route),
    /// Not protected.
    Unprotected,
}

impl Policy {
    /// Checks the routes, each and against each other.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] names the route and the field.
    pub fn new(routes: Vec<RouteConfig>) -> Result<Self, PolicyError> {
        let routes = routes
            .into_iter()
            .map(Route::new)
            .collect::<Result<Vec<_>, _>>()?;
        if routes.is_empty() {
            let reason = "are missing; without one, every request passes unprotected";
            return Err(Fault::new("routes", reason).at(String::new()));
        }
        for (index, route) in routes.iter().enumerate() {
            if let Some(earlier) = routes[..index]
                .iter()
                .find(|earlier| earlier.overlaps(route))
            {
                let reason = format!("matches requests that route '{}' matches too", earlier.name);
                return Err(Fault::new("path", reason).at(route.place()));
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

    /// Finds the route of a request. `path` is as received, without the query; `overridden` says
    /// that the request carries one of [`METHOD_OVERRIDE_HEADERS`].
    pub fn find(&self, method: &str, path: &str, overridden: bool) -> Match<'_> {
        let takes = |route: &Route| overridden || route.methods.iter().any(|known| known == method);
        let mut routes = self.routes.iter().filter(|route| takes(route));
        if overridden || canonical(path) != path {
            return match routes.any(|route| route.pattern.may_match(path)) {
                true => Match::NotCanonical,
                false => Match::Unprotected,
            };
        }
        match routes.find(|route| route.pattern.may_match(path)) {
            Some(route) if route.pattern.matches(path) => Match::Protected(route),
            Some(_) => Match::NotCanonical,
            None => Match::Unprotected,
        }
    }
}

#[cfg(test)]
mod tests;
