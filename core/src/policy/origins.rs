//! Which origin serves which path.
//!
//! The first entry whose path matches wins; what none matches goes to the default. A protected route
//! is served by one origin, so that an operation can be asked about where it was carried to.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::error::{Fault, PolicyError};
use super::path::{Case, Pattern};
use super::route::Route;

/// An entry of the table, as written in the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct OriginConfig {
    /// The paths, written as in a route.
    pub path: String,
    /// Scheme, host and port of the origin.
    pub url: Option<String>,
    /// The binding of the Worker that is the origin.
    pub service: Option<String>,
}

/// An origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "a shell must reach every kind")]
pub enum Place {
    /// A Worker, by the name of its binding.
    Service(String),
    /// A server, by scheme, host and port.
    Url(String),
}

/// The origins of a gate.
#[derive(Clone, Debug)]
pub struct Origins {
    table: Vec<(Pattern, Place)>,
    default: Place,
}

impl Origins {
    /// Checks the table. `default` serves what no entry matches; an entry for everything can stand
    /// in for it.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] names the entry and the field.
    pub fn new(entries: Vec<OriginConfig>, default: Option<Place>) -> Result<Self, PolicyError> {
        let mut table = Vec::new();
        for entry in entries {
            let place = format!("origin '{}'", entry.path);
            table.push(read(entry, &table).map_err(|fault| fault.at(place))?);
        }
        let everything = table.iter().find(|(pattern, _)| pattern.is_everything());
        let default = default.or_else(|| everything.map(|(_, place)| place.clone()));
        let needed = "is needed for the paths that no entry of ORIGINS matches";
        match default {
            Some(default) => Ok(Self { table, default }),
            None => Err(Fault::new("ORIGIN_URL", needed).at(String::new())),
        }
    }

    /// The origin of a path.
    pub fn of_path(&self, path: &str) -> &Place {
        let entry = self.table.iter().find(|(pattern, _)| pattern.matches(path));
        entry.map_or(&self.default, |(_, place)| place)
    }

    /// The origin of what no entry matches.
    pub fn default_place(&self) -> &Place {
        &self.default
    }

    /// The origin of every path of a route.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] if there are several.
    pub fn of_route(&self, route: &Route) -> Result<&Place, PolicyError> {
        let mut entries = self.table.iter();
        match entries.find(|(pattern, _)| pattern.overlaps(&route.pattern)) {
            None => Ok(&self.default),
            Some((pattern, place)) if pattern.covers(&route.pattern) => Ok(place),
            Some(_) => Err(Fault::new(
                "path",
                "is served by several origins; make a route for each",
            )
            .at(route.place())),
        }
    }
}

fn read(entry: OriginConfig, earlier: &[(Pattern, Place)]) -> Result<(Pattern, Place), Fault> {
    let pattern =
        Pattern::parse(&entry.path, Case::Counts).map_err(|reason| Fault::new("path", reason))?;
    if pattern.ends_with_slash() {
        let reason = "ends with '/', which is one path; '/*' is all that is below it";
        return Err(Fault::new("path", reason));
    }
    if earlier.iter().any(|(known, _)| known.covers(&pattern)) {
        return Err(Fault::new("path", "is served by an earlier entry already"));
    }
    match (entry.url, entry.service) {
        (Some(url), None) => Ok((pattern, Place::Url(url))),
        (None, Some(service)) if !service.is_empty() => Ok((pattern, Place::Service(service))),
        _ => Err(Fault::new(
            "url",
            "or service is needed, and only one of them",
        )),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::tests::{config, route};
    use super::*;

    fn entry(path: &str, url: &str) -> OriginConfig {
        OriginConfig {
            path: path.into(),
            url: Some(url.into()),
            service: None,
        }
    }

    fn url(url: &str) -> Place {
        Place::Url(url.into())
    }

    #[track_caller]
    fn refuses(entries: Vec<OriginConfig>, default: Option<Place>, message: &str) {
        let error = Origins::new(entries, default).unwrap_err();
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn the_first_entry_that_matches_serves_a_path() {
        let shop = OriginConfig {
            url: None,
            service: Some("SHOP".into()),
            ..entry("/shop/*", "")
        };
        let table = vec![entry("/pay/:id", "https://pay"), shop];
        let origins = Origins::new(table, Some(url("https://rest"))).unwrap();
        assert_eq!(origins.of_path("/pay/1"), &url("https://pay"));
        assert_eq!(origins.of_path("/pay/1/2"), &url("https://rest"));
        assert_eq!(origins.of_path("/shop/a/b"), &Place::Service("SHOP".into()));
        assert_eq!(origins.of_path("/"), &url("https://rest"));
    }

    #[test]
    fn a_route_has_one_origin() {
        let table = vec![
            entry("/pay/card/*", "https://card"),
            entry("/pay/*", "https://pay"),
        ];
        let origins = Origins::new(table, Some(url("https://rest"))).unwrap();
        let of = |path| origins.of_route(&route(config("r", "POST", path))).cloned();
        assert_eq!(of("/pay/card/:id"), Ok(url("https://card")));
        assert_eq!(of("/pay/cash/:id"), Ok(url("https://pay")));
        assert_eq!(of("/orders"), Ok(url("https://rest")));
        for path in ["/pay/:kind/:id", "/pay/*", "/*"] {
            assert_eq!(
                of(path).unwrap_err().to_string(),
                "route 'r': path is served by several origins; make a route for each"
            );
        }
    }

    #[test]
    fn every_path_has_an_origin() {
        refuses(
            vec![entry("/a/*", "https://a")],
            None,
            "ORIGIN_URL is needed for the paths that no entry of ORIGINS matches",
        );
        let all = Origins::new(vec![entry("/*", "https://a")], None).unwrap();
        assert_eq!(all.of_path("/x/y"), &url("https://a"));
        assert_eq!(all.of_path("/"), &url("https://a"));
    }

    #[test]
    fn an_entry_is_one_origin_for_paths_of_its_own() {
        let none = OriginConfig {
            url: None,
            ..entry("/a", "")
        };
        let one = "origin '/a': url or service is needed, and only one of them";
        refuses(vec![none], Some(url("x")), one);
        let both = OriginConfig {
            service: Some("A".into()),
            ..entry("/a", "https://a")
        };
        refuses(vec![both], Some(url("x")), one);
        refuses(
            vec![entry("/a/*", "https://a"), entry("/a/:b", "https://b")],
            Some(url("x")),
            "origin '/a/:b': path is served by an earlier entry already",
        );
        refuses(
            vec![entry("/a/", "https://a")],
            Some(url("x")),
            "origin '/a/': path ends with '/', which is one path; '/*' is all that is below it",
        );
        refuses(
            vec![entry("a", "https://a")],
            Some(url("x")),
            "origin 'a': path must begin with '/'",
        );
    }
}
