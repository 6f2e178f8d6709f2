//! The secrets of a stack, in the file that `wrangler dev` reads. Invariant: each is drawn once for a state folder. Drawn
//! again, they would make every stored operation unknown to the gate, so a file that has lost the one that names them is refused; and
//! what a person wrote into the file stays.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{random_hex, write};

/// What operations are named with.
const IDENTITY: &str = "IDENTITY_SECRET";

/// Those of every gate: what is drawn for each, with a name where the setting takes several.
const GATE: [(&str, &str); 2] = [(IDENTITY, ""), ("SIGNING_SECRETS", "local=")];

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
pub(super) struct Secrets {
    lines: String,
    /// Whether the shop is the family's, which presents secrets to the gate.
    family: bool,
}

impl Secrets {
    /// Reads those of a state folder, after drawing what is missing.
    pub(super) fn of(state: &Path, family: bool) -> Result<Self> {
        let file = state.join(".dev.vars");
        let found = match file.exists() {
            true => Some(
                fs::read_to_string(&file)
                    .with_context(|| format!("cannot read {}", file.display()))?,
            ),
            false => None,
        };
        let secrets = Self::complete(found.as_deref(), family)
            .with_context(|| format!("cannot use {}", file.display()))?;
        if found.as_deref() != Some(&secrets.lines) {
            write(&file, &secrets.lines)?;
        }
        Ok(secrets)
    }

    /// Those that were found, if there is a file, and after them what is missing.
    fn complete(found: Option<&str>, family: bool) -> Result<Self> {
        if found.is_some_and(|found| line(found, IDENTITY).is_none()) {
            bail!(
                "it has no {IDENTITY}, and with a new one every stored operation would be unknown: write the old one into it, or \
                 begin anew with --fresh"
            );
        }
        let found = found.unwrap_or_default();
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
        let lines = lines.join("\n") + "\n";
        Ok(Self { lines, family })
    }

    /// What the shop is given, as variables of its environment. The family's only with the family, whatever an earlier stack has left
    /// in the folder: the shop would ask where the gate is, and is told only then.
    pub(super) fn of_the_shop(&self) -> impl Iterator<Item = (&'static str, String)> {
        let signing = self.line("SIGNING_SECRETS");
        let signing = signing.map(|all| ("ONCEGATE_SIGNING_SECRETS", all.to_owned()));
        let of_the_family: &[_] = if self.family { &OF_THE_SHOP } else { &[] };
        let presented = of_the_family.iter().filter_map(|(variable, setting)| {
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
        line(&self.lines, setting)
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
        let written = "IDENTITY_SECRET=0123456789abcdef\nADMIN_SECRETS=anna=s3cret,bob=other";
        let drawn = Secrets::complete(Some(written), true).unwrap();
        let again = Secrets::complete(Some(&drawn.lines), true).unwrap();
        assert_eq!(drawn.lines, again.lines);
        assert!(drawn.lines.starts_with(written));
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
        let drawn = Secrets::complete(None, false).unwrap();
        assert_eq!(drawn.lines.lines().count(), 2);
        assert_eq!(of_the_shop(&drawn).len(), 1);
    }

    /// The shop of such a stack does not know where the gate is.
    #[test]
    fn a_stack_without_the_family_presents_nothing_that_one_with_it_has_left() {
        let left = Secrets::complete(None, true).unwrap();
        let plain = Secrets::complete(Some(&left.lines), false).unwrap();
        let given = of_the_shop(&plain);
        let names: Vec<_> = given.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["ONCEGATE_SIGNING_SECRETS", "ONCEGATE_CALLBACK_SECRET"]
        );
    }

    #[test]
    fn the_secret_that_names_operations_is_not_drawn_again() {
        let drawn = Secrets::complete(None, false).unwrap();
        let lost = drawn.lines.replace(IDENTITY, "#");
        let refused = Secrets::complete(Some(&lost), false).map(|_| ());
        let why = refused.unwrap_err().to_string();
        assert!(why.contains(IDENTITY) && why.contains("--fresh"), "{why}");
    }
}
