//! The shop's own program in the back room (`http::lab`): who takes stock behind the gate's locks, and who consumes messages behind
//! its claims.
//!
//! **Invariant: only a shop that was started with `--faults` presents these secrets to the gate.**
//!
//! | module | part |
//! | --- | --- |
//! | `consumers` | a message that is delivered five times |
//! | `stocktaking` | a shelf that two count at once |

pub(crate) mod consumers;
pub(crate) mod stocktaking;

use std::fmt;

use oncegate_client::{Client, Error};

use crate::commands::Trouble;

/// What the back room may ask the gate for. Without an address or a secret it may not.
#[derive(Clone, Debug, Default)]
pub struct Lab {
    pub(crate) locks: Option<Door>,
    pub(crate) claims: Option<Door>,
    pub(crate) admin: Option<Door>,
}

/// The gate, and a secret that it knows.
#[derive(Clone)]
pub(crate) struct Door {
    gate: String,
    secret: String,
}

impl Lab {
    /// The gate at this address, and one of its `LOCKS_SECRETS`, `CLAIMS_SECRETS` and `ADMIN_SECRETS`, as far as they
    /// are given.
    ///
    /// # Errors
    ///
    /// A secret without an address, or one of them that cannot be used.
    pub fn new(gate: Option<&str>, secrets: [Option<&str>; 3]) -> Result<Self, Trouble> {
        let door = |secret: Option<&str>| match (gate, secret) {
            (_, None) => Ok(None),
            (None, Some(_)) => Err(Trouble::from(
                "a secret of the gate's is given, and not where the gate is: say --gate or ONCEGATE_GATE",
            )),
            (Some(gate), Some(secret)) => Ok(Some(Door::to(gate, secret)?)),
        };
        let [locks, claims, admin] = secrets.map(door);
        Ok(Self {
            locks: locks?,
            claims: claims?,
            admin: admin?,
        })
    }
}

impl Door {
    fn to(gate: &str, secret: &str) -> Result<Self, Error> {
        Client::new(gate, secret)?;
        Ok(Self {
            gate: gate.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// A client with connections of its own.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        Client::new(&self.gate, &self.secret)
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Door({})", self.gate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_without_a_gate_is_refused_and_none_is_shown() {
        let secrets = [None, Some("hidden"), None];
        assert!(Lab::new(None, secrets).is_err());
        let lab = Lab::new(Some("http://127.0.0.1:1"), secrets).unwrap();
        assert!(lab.locks.is_none() && lab.claims.is_some());
        assert!(!format!("{lab:?}").contains("hidden"));
    }
}
