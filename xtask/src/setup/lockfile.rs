//! What Cargo.lock pins.

use anyhow::{Context, Result};

/// The version of a package in the text of a Cargo.lock; a package with two versions is an error, since then no tool can
/// match both.
pub(super) fn locked_version(lock: &str, package: &str) -> Result<String> {
    let lock: toml::Table = lock
        .parse()
        .context("Cargo.lock cannot be read: restore it with `git checkout Cargo.lock`")?;
    let packages = lock
        .get("package")
        .and_then(|list| list.as_array())
        .into_iter()
        .flatten();
    let field = |package: &'_ toml::Value, name| {
        package
            .get(name)
            .and_then(toml::Value::as_str)
            .map(str::to_owned)
    };
    let mut versions = packages
        .filter(|entry| field(entry, "name").as_deref() == Some(package))
        .filter_map(|entry| field(entry, "version"));
    match (versions.next(), versions.next()) {
        (Some(version), None) => Ok(version),
        (None, _) => {
            anyhow::bail!("Cargo.lock names no {package}: run `cargo update --package {package}`")
        }
        (Some(one), Some(two)) => anyhow::bail!(
            "Cargo.lock names {package} twice, {one} and {two}: pin one in Cargo.toml"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        version = 4
        [[package]]
        name = "wasm-bindgen"
        version = "0.2.130"
        [[package]]
        name = "wasm-bindgen-macro"
        version = "0.2.129"
        [[package]]
        name = "hashbrown"
        version = "0.15.0"
        [[package]]
        name = "hashbrown"
        version = "0.16.0"
    "#;

    #[test]
    fn the_version_of_exactly_that_package_is_found() {
        assert_eq!(locked_version(LOCK, "wasm-bindgen").unwrap(), "0.2.130");
    }

    #[test]
    fn an_absent_package_and_a_double_one_are_errors_that_say_what_to_do() {
        assert_eq!(
            locked_version(LOCK, "worker").unwrap_err().to_string(),
            "Cargo.lock names no worker: run `cargo update --package worker`"
        );
        assert!(
            locked_version(LOCK, "hashbrown")
                .unwrap_err()
                .to_string()
                .contains("twice, 0.15.0 and 0.16.0")
        );
        assert!(locked_version("<<<", "worker").is_err());
    }
}
