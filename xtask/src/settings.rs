//! What is shown is valid: wrangler.toml documents every setting of a route where it is set, and nothing else, and the gate takes
//! the settings that it shows in comments and the routes of docs/origin.md.

use std::collections::BTreeSet;
use std::fs;

use oncegate_core::policy::{Policy, RouteConfig};
use serde_json::Value;

use crate::project::Project;
use crate::stack::family;

fn wrangler_toml() -> String {
    let file = Project::find().unwrap().path("wrangler.toml");
    fs::read_to_string(file).unwrap()
}

/// The first route, as the gate reads it.
fn route() -> Value {
    let config: toml::Table = wrangler_toml().parse().unwrap();
    serde_json::to_value(&config["vars"]["ROUTES"][0]).unwrap()
}

/// The settings of the route that stand in comments, each as `name = value`.
fn commented() -> Vec<(String, Value)> {
    let text = wrangler_toml();
    let (_, section) = text.split_once("[[vars.ROUTES]]").unwrap();
    let is_name = |name: &str| {
        name.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let lines = section.lines().filter_map(|line| line.strip_prefix("# "));
    lines
        .filter(|line| {
            line.split_once(" = ")
                .is_some_and(|(name, _)| is_name(name))
        })
        .map(|line| {
            let setting: toml::Table = line.parse().unwrap();
            let (name, value) = setting.into_iter().next().unwrap();
            (name, serde_json::to_value(value).unwrap())
        })
        .collect()
}

/// Every setting that there is: the parser lists them when it meets another one.
fn known() -> BTreeSet<String> {
    let mut other = route();
    other["no_such_setting"] = Value::Null;
    let error = serde_json::from_value::<RouteConfig>(other)
        .unwrap_err()
        .to_string();
    let names = error.split('`').skip(1).step_by(2).skip(1);
    names.map(str::to_owned).collect()
}

#[test]
fn the_first_route_is_one_that_the_gate_takes() {
    let route: RouteConfig = serde_json::from_value(route()).unwrap();
    Policy::new(&[route], false).unwrap();
}

#[test]
fn the_familys_routes_and_the_first_one_are_ones_that_the_gate_takes_together() {
    let config: toml::Table = family::GATE.parse().unwrap();
    let routes = serde_json::to_value(&config["vars"]["ROUTES"]).unwrap();
    let mut routes: Vec<RouteConfig> = serde_json::from_value(routes).unwrap();
    routes.push(serde_json::from_value(route()).unwrap());
    Policy::new(&routes, false).unwrap();
}

#[test]
fn every_setting_of_a_route_is_documented() {
    let mut documented: BTreeSet<String> = commented().into_iter().map(|(name, _)| name).collect();
    documented.extend(route().as_object().unwrap().keys().cloned());
    // They are explained beside the setting that they belong to.
    documented.extend(["key_from", "fingerprint_ignore"].map(str::to_owned));
    assert_eq!(documented, known());
}

#[test]
fn what_is_shown_in_comments_is_written_as_the_gate_reads_it() {
    for (name, value) in commented() {
        let mut shown = route();
        shown[&name] = value;
        let read = serde_json::from_value::<RouteConfig>(shown);
        assert!(read.is_ok(), "{name}: {}", read.unwrap_err());
    }
}

#[test]
fn the_routes_that_the_guide_shows_are_ones_that_the_gate_takes() {
    for (guide, heading) in [
        ("docs/origin.md", "## Routes"),
        ("docs/zh/origin.md", "## 路由"),
    ] {
        let guide = fs::read_to_string(Project::find().unwrap().path(guide)).unwrap();
        let (_, routes) = guide.split_once(heading).unwrap();
        let (_, shown) = routes.split_once("```toml\n").unwrap();
        let (shown, _) = shown.split_once("```").unwrap();
        let config: toml::Table = shown.parse().unwrap();
        let routes = serde_json::to_value(&config["vars"]["ROUTES"]).unwrap();
        let routes: Vec<RouteConfig> = serde_json::from_value(routes).unwrap();
        assert_eq!(routes.len(), 3);
        Policy::new(&routes, true).unwrap();
    }
}
