//! The gate's configuration for one stack: the checkout's wrangler.toml with absolute paths, this stack's origin and a
//! test's overrides. Invariant: what is not named here stays as it is in wrangler.toml, so that every run tests that file.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail};
use toml::{Table, Value};

/// The origin that wrangler.toml names for development.
const DEFAULT_ORIGIN: &str = "http://127.0.0.1:8788";

/// A field of the first route with another value, such as `lease_ms=1500`; a name in capitals is a variable of the Worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RouteOverride {
    field: String,
    value: Value,
}

impl FromStr for RouteOverride {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (field, value) = text
            .split_once('=')
            .with_context(|| format!("`{text}` is no field=value, such as lease_ms=1500"))?;
        // A value that is no TOML, such as a bare word, is meant as text.
        let parsed = format!("value = {value}")
            .parse::<Table>()
            .ok()
            .and_then(|mut table| table.remove("value"));
        Ok(Self {
            field: field.to_owned(),
            value: parsed.unwrap_or_else(|| Value::String(value.to_owned())),
        })
    }
}

/// The text of the configuration file of one stack. `more` is what it has beside wrangler.toml.
pub(super) fn for_stack(
    wrangler_toml: &str,
    more: &str,
    root: &Path,
    origin: &str,
    overrides: &[RouteOverride],
) -> Result<String> {
    let mut config: Table = wrangler_toml.parse().context("wrangler.toml is no TOML")?;
    merge(
        &mut config,
        more.parse()
            .context("what is added to wrangler.toml is no TOML")?,
    );
    // The stack is built before it starts, and a rebuild in the middle of a test would restart the gate.
    config.remove("build");
    absolute(config.get_mut("main"), root)?;
    absolute(
        config
            .get_mut("assets")
            .and_then(|assets| assets.get_mut("directory")),
        root,
    )?;
    let mut config = Value::Table(config);
    replace_origin(&mut config, origin);
    for RouteOverride { field, value } in overrides {
        let place = match field.chars().any(char::is_lowercase) {
            true => first_route(&mut config)
                .context("wrangler.toml has no route (a table with `methods` and `path`)")?,
            false => config
                .get_mut("vars")
                .and_then(Value::as_table_mut)
                .context("wrangler.toml has no [vars]")?,
        };
        place.insert(field.clone(), value.clone());
    }
    toml::to_string(&config).context("the gate's configuration cannot be written as TOML")
}

/// Adds to tables and lists.
fn merge(into: &mut Table, more: Table) {
    for (name, value) in more {
        match (into.get_mut(&name), value) {
            (Some(Value::Table(known)), Value::Table(more)) => merge(known, more),
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

fn absolute(path: Option<&mut Value>, root: &Path) -> Result<()> {
    let Some(Value::String(path)) = path else {
        bail!("wrangler.toml lacks `main` or `assets.directory`")
    };
    *path = root
        .join(path.trim_start_matches("./"))
        .to_str()
        .context("the checkout's path is no UTF-8: move it")?
        .to_owned();
    Ok(())
}

fn replace_origin(value: &mut Value, origin: &str) {
    match value {
        Value::String(text) if text.starts_with(DEFAULT_ORIGIN) => {
            *text = text.replace(DEFAULT_ORIGIN, origin);
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace_origin(item, origin)),
        Value::Table(fields) => fields
            .iter_mut()
            .for_each(|(_, field)| replace_origin(field, origin)),
        _ => {}
    }
}

fn first_route(value: &mut Value) -> Option<&mut Table> {
    match value {
        Value::Table(fields) => {
            if fields.contains_key("methods") && fields.contains_key("path") {
                return Some(fields);
            }
            fields.iter_mut().find_map(|(_, field)| first_route(field))
        }
        Value::Array(items) => items.iter_mut().find_map(first_route),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRANGLER: &str = r#"
        name = "oncegate"
        main = "edge-worker/build/index.js"
        [build]
        command = "cargo xtask build"
        [assets]
        directory = "./target/site"
        [vars]
        ORIGIN_URL = "http://127.0.0.1:8788"
        [[vars.ROUTES]]
        name = "orders"
        methods = ["POST"]
        path = "/orders"
        lease_ms = 30000
    "#;

    const MORE: &str = r#"
        [vars]
        QUEUES = [{ queue = "messages", path = "/messages" }]
        [[vars.ROUTES]]
        name = "messages"
    "#;

    fn made(overrides: &[&str]) -> Table {
        let overrides: Vec<RouteOverride> =
            overrides.iter().map(|text| text.parse().unwrap()).collect();
        for_stack(
            WRANGLER,
            MORE,
            Path::new("/src"),
            "http://127.0.0.1:9001",
            &overrides,
        )
        .unwrap()
        .parse()
        .unwrap()
    }

    #[test]
    fn paths_become_absolute_and_the_origin_is_the_stacks_own() {
        let config = made(&[]);
        assert_eq!(
            config["main"].as_str(),
            Some("/src/edge-worker/build/index.js")
        );
        assert_eq!(
            config["assets"]["directory"].as_str(),
            Some("/src/target/site")
        );
        assert_eq!(
            config["vars"]["ORIGIN_URL"].as_str(),
            Some("http://127.0.0.1:9001")
        );
        assert!(!config.contains_key("build"));
        assert_eq!(config["name"].as_str(), Some("oncegate"));
    }

    #[test]
    fn overrides_change_and_add_fields_of_the_first_route() {
        let route =
            made(&["lease_ms=1500", "wait_ms=800", "origin=none"])["vars"]["ROUTES"][0].clone();
        assert_eq!(route["lease_ms"].as_integer(), Some(1500));
        assert_eq!(route["wait_ms"].as_integer(), Some(800));
        assert_eq!(route["origin"].as_str(), Some("none"));
        assert_eq!(route["path"].as_str(), Some("/orders"));
    }

    #[test]
    fn a_name_in_capitals_is_a_variable() {
        let vars = made(&["CORS_ORIGINS=[\"https://a.example\"]"])["vars"].clone();
        assert_eq!(vars["CORS_ORIGINS"][0].as_str(), Some("https://a.example"));
    }

    #[test]
    fn what_a_stack_has_beside_wrangler_toml_is_added_to_it() {
        let vars = made(&[])["vars"].clone();
        assert_eq!(vars["ROUTES"][0]["name"].as_str(), Some("orders"));
        assert_eq!(vars["ROUTES"][1]["name"].as_str(), Some("messages"));
        assert_eq!(vars["QUEUES"][0]["queue"].as_str(), Some("messages"));
    }

    #[test]
    fn an_override_without_a_value_is_refused() {
        assert_eq!(
            "lease_ms".parse::<RouteOverride>().unwrap_err().to_string(),
            "`lease_ms` is no field=value, such as lease_ms=1500"
        );
    }

    #[test]
    fn a_file_without_routes_cannot_be_overridden() {
        let text = "main = 'm'\n[assets]\ndirectory = 's'\n";
        let change = ["lease_ms=1".parse().unwrap()];
        assert!(
            for_stack(text, "", Path::new("/"), "x", &change)
                .unwrap_err()
                .to_string()
                .contains("no route")
        );
    }
}
