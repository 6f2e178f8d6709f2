//! Which requests are protected, and how.
//!
//! The policy is read once, when the gate starts; a policy that could be misread does not start.
//! Every error names the route and the field.

mod path;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;

use self::path::{Pattern, canonical};
use crate::operation::Terms;
use crate::proof::Origin;

/// How long the edge waits for an object before it gives up on it, in milliseconds. A fault of the
/// store must end here, so everything that a store legitimately waits for ends earlier (rule T1).
pub const STORE_DEADLINE_MS: u64 = 25_000;

/// How long a reply is listened for, in milliseconds (rule A4).
pub const HARD_TIMEOUT_MS: u64 = 15 * 60 * 1_000;

/// The largest body that a route may allow: requests are held whole before anything is claimed.
const LARGEST_BODY_BYTES: u64 = 32 * 1024 * 1024;

/// Headers with which a client asks an origin to read another method than the request's.
pub const METHOD_OVERRIDE_HEADERS: [&str; 3] = [
    "x-http-method-override",
    "x-method-override",
    "x-http-method",
];

const DAY_S: u64 = 24 * 60 * 60;

/// The routes of a gate.
#[derive(Clone, Debug)]
pub struct Policy {
    routes: Vec<Route>,
}

/// A protected route.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Route {
    /// Its name, in logs and errors.
    pub name: String,
    /// Whether a request without a key is refused.
    pub key_required: bool,
    /// What is written into an operation's record.
    pub terms: Terms,
    /// How long a duplicate waits for the open attempt, in milliseconds.
    pub wait_ms: u64,
    /// How long the request that started the attempt waits for it, in milliseconds.
    pub client_timeout_ms: u64,
    /// The largest request body, in bytes.
    pub max_body_bytes: u64,
    methods: Vec<String>,
    pattern: Pattern,
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

/// A route, as written in the configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct RouteConfig {
    /// A name for logs and errors.
    pub name: String,
    /// The methods, such as `["POST"]`.
    pub methods: Vec<String>,
    /// The path: literal segments, `:name` for any one segment, `*` at the end for the rest.
    pub path: String,
    /// `required` (default) or `optional`: whether a request without a key is refused or passes
    /// unprotected.
    #[serde(default)]
    pub key: KeyUse,
    /// What the origin can do to settle an unknown operation. No default: see [`Origin`].
    pub origin: Origin,
    /// How long a duplicate waits for the open attempt; 10,000 ms.
    pub wait_ms: Option<u64>,
    /// How long the first request waits for its answer; 20,000 ms.
    pub client_timeout_ms: Option<u64>,
    /// How long an attempt is open before the operation counts as unknown; 30,000 ms.
    pub lease_ms: Option<u64>,
    /// How long an answer is replayed after its completion; 24 h.
    pub result_ttl_s: Option<u64>,
    /// How long a key is remembered after it settled; 7 days.
    pub key_ttl_s: Option<u64>,
    /// How long the origin's ledger keeps its rows, at least twice the key ttl; 30 days.
    pub ledger_retention_s: Option<u64>,
    /// The largest request body; 1 MiB.
    pub max_body_bytes: Option<u64>,
}

/// Whether a route wants a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum KeyUse {
    /// A request without a key passes unprotected.
    Optional,
    /// A request without a key is refused.
    #[default]
    Required,
}

/// Why a policy cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    route: String,
    field: &'static str,
    reason: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "route '{}': {} {}", self.route, self.field, self.reason)
    }
}

impl core::error::Error for PolicyError {}

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
        for (index, route) in routes.iter().enumerate() {
            if let Some(earlier) = routes[..index]
                .iter()
                .find(|earlier| earlier.overlaps(route))
            {
                return Err(PolicyError {
                    route: route.name.clone(),
                    field: "path",
                    reason: format!("matches requests that route '{}' matches too", earlier.name),
                });
            }
        }
        Ok(Self { routes })
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
        let protected = |path: &str| {
            let mut routes = self
                .routes
                .iter()
                .filter(|route| route.pattern.matches(path));
            routes.find(|route| overridden || route.methods.iter().any(|known| known == method))
        };
        let read_as = canonical(path);
        match protected(path) {
            Some(_) if overridden || read_as != path => Match::NotCanonical,
            Some(route) => Match::Protected(route),
            None if protected(&read_as).is_some() => Match::NotCanonical,
            None => Match::Unprotected,
        }
    }
}

impl Route {
    fn new(config: RouteConfig) -> Result<Self, PolicyError> {
        let name = config.name.clone();
        let error = |field, reason: &str| PolicyError {
            route: name.clone(),
            field,
            reason: reason.to_string(),
        };
        let pattern = Pattern::parse(&config.path).map_err(|reason| error("path", reason))?;
        if config.methods.is_empty() {
            return Err(error(
                "methods",
                "is empty; list at least one, such as POST",
            ));
        }
        let is_method = |method: &String| method.bytes().all(|byte| byte.is_ascii_uppercase());
        if !config.methods.iter().all(is_method) {
            return Err(error("methods", "are written in capitals, such as POST"));
        }
        let route = Self {
            name: config.name,
            key_required: config.key == KeyUse::Required,
            terms: Terms {
                origin: config.origin,
                lease_ms: config.lease_ms.unwrap_or(30_000),
                result_ttl_ms: config.result_ttl_s.unwrap_or(DAY_S).saturating_mul(1_000),
                key_ttl_ms: config.key_ttl_s.unwrap_or(7 * DAY_S).saturating_mul(1_000),
                ledger_retention_ms: config
                    .ledger_retention_s
                    .unwrap_or(30 * DAY_S)
                    .saturating_mul(1_000),
            },
            wait_ms: config.wait_ms.unwrap_or(10_000),
            client_timeout_ms: config.client_timeout_ms.unwrap_or(20_000),
            max_body_bytes: config.max_body_bytes.unwrap_or(1024 * 1024),
            methods: config.methods,
            pattern,
        };
        route
            .check()
            .map_err(|(field, reason)| error(field, reason))?;
        Ok(route)
    }

    /// The order of the times (rules T1, T2, L9).
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let terms = &self.terms;
        let rules = [
            (self.name.is_empty(), "name", "is empty"),
            (
                self.wait_ms > self.client_timeout_ms,
                "wait_ms",
                "is longer than client_timeout_ms",
            ),
            (
                self.client_timeout_ms >= STORE_DEADLINE_MS,
                "client_timeout_ms",
                "must be under 25000, the deadline for the store",
            ),
            (terms.lease_ms == 0, "lease_ms", "must be at least 1"),
            (
                terms.lease_ms > HARD_TIMEOUT_MS,
                "lease_ms",
                "is longer than an answer is listened for (900000)",
            ),
            (terms.key_ttl_ms == 0, "key_ttl_s", "must be at least 1"),
            (
                terms.result_ttl_ms > terms.key_ttl_ms,
                "result_ttl_s",
                "is longer than key_ttl_s",
            ),
            (
                terms.ledger_retention_ms < terms.key_ttl_ms.saturating_mul(2),
                "ledger_retention_s",
                "must be at least twice key_ttl_s",
            ),
            (
                self.max_body_bytes > LARGEST_BODY_BYTES,
                "max_body_bytes",
                "is over 33554432 (32 MiB)",
            ),
        ];
        match rules.into_iter().find(|(broken, ..)| *broken) {
            Some((_, field, reason)) => Err((field, reason)),
            None => Ok(()),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.pattern.overlaps(&other.pattern)
            && self
                .methods
                .iter()
                .any(|method| other.methods.contains(method))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn config(name: &str, method: &str, path: &str) -> RouteConfig {
        RouteConfig {
            name: name.into(),
            methods: vec![method.into()],
            path: path.into(),
            key: KeyUse::Required,
            origin: Origin::Ledger,
            wait_ms: None,
            client_timeout_ms: None,
            lease_ms: None,
            result_ttl_s: None,
            key_ttl_s: None,
            ledger_retention_s: None,
            max_body_bytes: None,
        }
    }

    fn orders() -> RouteConfig {
        config("orders", "POST", "/orders")
    }

    #[track_caller]
    fn refuses(routes: Vec<RouteConfig>, message: &str) {
        assert_eq!(Policy::new(routes).unwrap_err().to_string(), message);
    }

    #[test]
    fn k5_a_path_that_matches_only_in_canonical_form_is_refused() {
        let policy = Policy::new(vec![orders()]).unwrap();
        assert!(matches!(
            policy.find("POST", "/orders", false),
            Match::Protected(_)
        ));
        for path in [
            "/orders/",
            "//orders",
            "/%6Frders",
            "/x/../orders",
            "/orders;a",
        ] {
            assert!(
                matches!(policy.find("POST", path, false), Match::NotCanonical),
                "{path}"
            );
        }
        assert!(matches!(
            policy.find("GET", "/orders", false),
            Match::Unprotected
        ));
        assert!(matches!(
            policy.find("POST", "/orders/1", false),
            Match::Unprotected
        ));
    }

    #[test]
    fn k5_a_method_override_on_a_protected_path_is_refused() {
        let policy = Policy::new(vec![orders()]).unwrap();
        for method in ["GET", "POST", "PUT"] {
            assert!(matches!(
                policy.find(method, "/orders", true),
                Match::NotCanonical
            ));
            assert!(matches!(
                policy.find(method, "/orders/", true),
                Match::NotCanonical
            ));
        }
        assert!(matches!(
            policy.find("GET", "/catalog", true),
            Match::Unprotected
        ));
    }

    #[test]
    fn t1_t2_the_times_have_an_order() {
        refuses(
            vec![RouteConfig {
                wait_ms: Some(20_001),
                ..orders()
            }],
            "route 'orders': wait_ms is longer than client_timeout_ms",
        );
        refuses(
            vec![RouteConfig {
                client_timeout_ms: Some(25_000),
                ..orders()
            }],
            "route 'orders': client_timeout_ms must be under 25000, the deadline for the store",
        );
        refuses(
            vec![RouteConfig {
                result_ttl_s: Some(8 * DAY_S),
                ..orders()
            }],
            "route 'orders': result_ttl_s is longer than key_ttl_s",
        );
    }

    #[test]
    fn l9_the_ledger_remembers_longer_than_the_gate() {
        refuses(
            vec![RouteConfig {
                ledger_retention_s: Some(13 * DAY_S),
                ..orders()
            }],
            "route 'orders': ledger_retention_s must be at least twice key_ttl_s",
        );
    }

    #[test]
    fn a_route_is_found_by_its_name_or_by_being_the_only_one() {
        let one = Policy::new(vec![orders()]).unwrap();
        assert!(one.route(None).is_some() && one.route(Some("orders")).is_some());
        assert!(one.route(Some("order")).is_none());
        let two = Policy::new(vec![orders(), config("b", "PUT", "/b")]).unwrap();
        assert!(two.route(None).is_none() && two.route(Some("b")).is_some());
    }

    #[test]
    fn errors_name_route_and_field() {
        refuses(
            vec![config("o", "post", "/a")],
            "route 'o': methods are written in capitals, such as POST",
        );
        refuses(
            vec![config("o", "POST", "a")],
            "route 'o': path must begin with '/'",
        );
        refuses(
            vec![
                config("one", "POST", "/a/:id"),
                config("two", "POST", "/a/b"),
            ],
            "route 'two': path matches requests that route 'one' matches too",
        );
        assert!(
            Policy::new(vec![
                config("one", "POST", "/a"),
                config("two", "PUT", "/a")
            ])
            .is_ok()
        );
    }
}
