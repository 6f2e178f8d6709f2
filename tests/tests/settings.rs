//! `wrangler.toml` is the one documented list of settings: whatever the gate knows is in it, and what it
//! shows of a setting is true.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use oncegate_core::policy::{Policy, RouteConfig};
use toml::Table;

/// Settings that are off unless they are set: the file shows an example of each.
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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn wrangler() -> String {
    fs::read_to_string(root().join("wrangler.toml")).expect("it is in the repository")
}

/// The part of the file that says everything about routes.
fn of_routes(file: &str) -> &str {
    let (_, after) = file
        .split_once("\n[[vars.ROUTES]]\n")
        .expect("it has routes");
    after
}

/// What `file` shows in comments: `# name = value`.
fn commented(section: &str) -> Vec<&str> {
    let comments = section.lines().filter_map(|line| line.strip_prefix("# "));
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let settings = comments.filter(|line| {
        line.split_once(" = ")
            .is_some_and(|(name, _)| is_name(name))
    });
    settings.collect()
}

fn config(table: Table) -> Result<RouteConfig, String> {
    table.try_into().map_err(|error| error.to_string())
}

/// The route of the file with these settings beside, or instead of, its own.
fn with(section: &str, more: &[&str]) -> Result<String, String> {
    let mut table: Table = section.parse().expect("the file is TOML");
    for setting in more {
        let setting: Table = setting.parse().map_err(|_| format!("no TOML: {setting}"))?;
        table.extend(setting);
    }
    let verifies_tokens = true;
    let policy = Policy::new(&[config(table)?], verifies_tokens);
    let policy = policy.map_err(|error| error.to_string())?;
    Ok(format!("{:?}", policy.routes()))
}

/// What has to be set with a setting, so that it may be set at all.
fn companion(name: &str) -> &'static [&'static str] {
    match name {
        "ask" => &["origin = \"read\""],
        "outcome" | "not_executed" | "refused" | "unknown" => &["origin = \"none\""],
        "token_ttl_s" => &["token = \"required\""],
        _ => &[],
    }
}

/// Every field that a route can have, as the parser lists them to who sets another one.
fn known_of_routes() -> BTreeSet<String> {
    let error = config("no-such = 1".parse().expect("TOML")).unwrap_err();
    let (_, listed) = error.split_once("expected one of").expect("a list");
    let names = listed.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

#[test]
fn every_setting_of_a_route_is_in_the_file() {
    let file = wrangler();
    let known = known_of_routes();
    assert!(known.len() > 30, "{known:?}");
    for name in known {
        let is_shown = |before: &str| of_routes(&file).contains(&format!("{before}{name} = "));
        assert!(
            ["\n", " ", "`"].iter().any(|before| is_shown(before)),
            "{name}"
        );
    }
}

#[test]
fn what_the_file_shows_in_a_comment_can_be_set_and_is_the_default_unless_it_says_otherwise() {
    let file = wrangler();
    let section = of_routes(&file);
    let shown = commented(section);
    assert!(shown.len() > 20, "{shown:?}");
    for setting in shown {
        let (name, _) = setting.split_once(" = ").expect("a setting");
        let beside = companion(name);
        let unset = with(section, beside).expect(name);
        let set = with(section, &[beside, &[setting]].concat());
        let set = set.unwrap_or_else(|error| panic!("{setting}: {error}"));
        assert_eq!(set != unset, EXAMPLES.contains(&name), "{setting}");
    }
}

#[test]
fn every_variable_and_secret_that_the_gate_reads_is_in_the_file() {
    let file = wrangler();
    let folder = root().join("edge-worker/src");
    let more = fs::read_dir(folder.join("config")).expect("it is a folder");
    let files = more.map(|entry| entry.expect("a file").path());
    let sources = files.chain([folder.join("config.rs")]);
    let mut read = BTreeSet::new();
    for source in sources {
        let source = fs::read_to_string(source).expect("it is readable");
        read.extend(
            source
                .split('"')
                .filter(|text| is_variable(text))
                .map(str::to_owned),
        );
    }
    assert!(read.len() > 20, "{read:?}");
    for name in read {
        assert!(file.contains(&name), "wrangler.toml says nothing of {name}");
    }
}

fn is_variable(text: &str) -> bool {
    text.len() > 2 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}
