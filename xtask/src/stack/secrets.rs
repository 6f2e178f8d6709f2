//! The secrets of a stack, in the file that `wrangler dev` reads. Invariant: each is drawn once for a state folder. Drawn
//! again, they would make every stored operation unknown to the gate; and what a person wrote into the file stays.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{random_hex, write};

/// Those of every gate: what is drawn for each, with a name where the setting takes several.
const GATE: [(&str, &str); 2] = [("IDENTITY_SECRET", ""), ("SIGNING_SECRETS", "local=")];

/// Those of the family: what the shop presents to the gate, and what tokens are signed with.
const FAMILY: [(&str, &str); 4] = [
    ("ADMIN_SECRETS", "local="),
    ("CLAIMS_SECRETS", "local="),
    ("LOCKS_SECRETS", "local="),
    ("TOKEN_SECRETS", "local="),
];

/// What the payment provider signs with, in the gate's words: the family's route `provider`.
const WEBHOOKS: &str = "WEBHOOK_SECRETS";

/// What the shop knows of them: its setting, and the gate's.
const OF_THE_SHOP: [(&str, &str); 3] = [
    ("ONCEGATE_GATE_ADMIN_SECRET", "ADMIN_SECRETS"),
    ("ONCEGATE_CLAIMS_SECRET", "CLAIMS_SECRETS"),
    ("ONCEGATE_LOCKS_SECRET", "LOCKS_SECRETS"),
];

/// The lines of the file.
pub(super) struct Secrets(String);

impl Secrets {
    /// Reads those of a state folder, after drawing what is missing.
    pub(super) fn of(state: &Path, family: bool) -> Result<Self> {
        let file = state.join(".dev.vars");
        let found = match file.exists() {
            true => fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?,
            false => String::new(),
        };
        let secrets = Self::complete(&found, family)?;
        if secrets.0 != found {
            write(&file, &secrets.0)?;
        }
        Ok(secrets)
    }

    /// Those that were found, and after them what is missing.
    fn complete(found: &str, family: bool) -> Result<Self> {
        let more: &[_] = if family { &FAMILY } else { &[] };
        let mut lines: Vec<String> = found.lines().map(str::to_owned).collect();
        for (setting, prefix) in GATE.iter().chain(more) {
            if line(found, setting).is_none() {
                lines.push(format!("{setting}={prefix}{}", random_hex()?));
            }
        }
        if family && line(found, WEBHOOKS).is_none() {
            let keys = json!({ "provider": [{ "name": "local", "secret": random_hex()? }] });
            lines.push(format!("{WEBHOOKS}='{keys}'"));
        }
        Ok(Self(lines.join("\n") + "\n"))
    }

    /// What the shop is given, as variables of its environment.
    pub(super) fn of_the_shop(&self) -> impl Iterator<Item = (&'static str, String)> {
        let signing = self.line("SIGNING_SECRETS");
        let signing = signing.map(|all| ("ONCEGATE_SIGNING_SECRETS", all.to_owned()));
        let presented = OF_THE_SHOP.iter().filter_map(|(variable, setting)| {
            Some((*variable, first(self.line(setting)?)?.to_owned()))
        });
        let callback = self.callback();
        let callback = callback.map(|secret| ("ONCEGATE_CALLBACK_SECRET", secret));
        signing.into_iter().chain(presented).chain(callback)
    }

    /// The payment provider's secret, as the file has it. What a person wrote there may name no such route.
    fn callback(&self) -> Option<String> {
        let keys: Value = serde_json::from_str(self.line(WEBHOOKS)?.trim_matches('\'')).ok()?;
        keys["provider"][0]["secret"].as_str().map(str::to_owned)
    }

    fn line(&self, setting: &str) -> Option<&str> {
        line(&self.0, setting)
    }
}

/// What a setting says.
fn line<'t>(text: &'t str, setting: &str) -> Option<&'t str> {
    text.lines()
        .find_map(|line| line.strip_prefix(setting)?.strip_prefix('='))
}

/// The first secret of `name=secret[,name=secret]`.
fn first(all: &str) -> Option<&str> {
    let (_, secret) = all.split(',').next()?.split_once('=')?;
    Some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_the_shop(secrets: &Secrets) -> Vec<(String, String)> {
        let owned = |(name, value): (&str, String)| (name.to_owned(), value);
        secrets.of_the_shop().map(owned).collect()
    }

    #[test]
    fn secrets_are_drawn_once_and_what_a_person_wrote_stays() {
        let written = "ADMIN_SECRETS=anna=s3cret,bob=other";
        let drawn = Secrets::complete(written, true).unwrap();
        let again = Secrets::complete(&drawn.0, true).unwrap();
        assert_eq!(drawn.0, again.0);
        let given = of_the_shop(&drawn);
        assert_eq!(given.len(), 5);
        assert!(
            given
                .iter()
                .any(|(name, value)| name == "ONCEGATE_CALLBACK_SECRET" && value.len() == 32)
        );
        assert!(given.contains(&("ONCEGATE_GATE_ADMIN_SECRET".into(), "s3cret".into())));
    }

    #[test]
    fn a_stack_without_the_family_has_two_secrets() {
        let drawn = Secrets::complete("", false).unwrap();
        assert_eq!(drawn.0.lines().count(), 2);
        assert_eq!(of_the_shop(&drawn).len(), 1);
    }
}
