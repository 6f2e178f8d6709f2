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

/// Settings that are off unless they are set: an example is shown of each.
const EXAMPLES: [&str; 8] = [
    "ask",
    "bind",
    "not_executed",
    "outcome",
    "refused",
    "replay_headers",
    "unknown",
    "webhook",
];

/// What has to be set with a setting, so that it can be.
fn companion(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "ask" => Some(("origin", "read")),
        "outcome" | "not_executed" | "refused" | "unknown" => Some(("origin", "none")),
        "token_ttl_s" => Some(("token", "required")),
        _ => None,
    }
}

/// A route as the gate understands it.
fn understood(route: Value) -> Result<String, String> {
    let config = serde_json::from_value::<RouteConfig>(route).map_err(|error| error.to_string())?;
    let policy = Policy::new(&[config], true).map_err(|error| error.to_string())?;
    Ok(format!("{:?}", policy.routes()))
}

#[test]
fn what_is_shown_in_comments_can_be_set_and_is_the_default_unless_it_is_an_example() {
    for (name, value) in commented() {
        let mut unset = route();
        if let Some((beside, word)) = companion(&name) {
            unset[beside] = word.into();
        }
        let mut set = unset.clone();
        set[&name] = value;
        let [unset, set] = [unset, set].map(understood);
        for understood in [&unset, &set] {
            assert!(understood.is_ok(), "{name}: {understood:?}");
        }
        assert_eq!(set != unset, EXAMPLES.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn every_variable_and_secret_that_the_gate_reads_is_documented() {
    let folder = Project::find().unwrap().path("edge-worker/src");
    let more = fs::read_dir(folder.join("config")).unwrap();
    let files = more.map(|entry| entry.unwrap().path());
    let mut read = BTreeSet::new();
    for source in files.chain([folder.join("config.rs")]) {
        let source = fs::read_to_string(source).unwrap();
        let texts = source.split('"').filter(|text| is_variable(text));
        read.extend(texts.map(str::to_owned));
    }
    assert!(read.len() > 20, "{read:?}");
    let documented = wrangler_toml();
    for name in read {
        assert!(
            documented.lines().any(|line| documents(line, &name)),
            "{name}"
        );
    }
}

/// Whether a line sets a variable, shows how in a comment, begins its table, or is a secret's among the secrets.
fn documents(line: &str, name: &str) -> bool {
    let begins = line.trim_start_matches(['#', ' ']).strip_prefix(name);
    begins.is_some_and(|rest| rest.starts_with(" = ") || rest.starts_with("  "))
        || line == format!("[[vars.{name}]]")
}

fn is_variable(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    text.len() > 2 && text.bytes().all(is_letter)
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
