//! Ports for the gate and the origin. Invariant: two runs that choose at once never get the same pair.
//!
//! Chosen ports lie below 32768: above, the system may have lent the port to an outgoing connection.

use std::net::{Ipv4Addr, TcpListener};
use std::process::id;

use anyhow::{Context, Result, bail};

use crate::project::{Lock, Project};

const FIRST: u16 = 20_000;
const PAIRS: u16 = 6_000;

/// The gate's port; the origin's is the next one.
pub(crate) struct Ports {
    gate: u16,
    _claim: Option<Lock>,
}

impl Ports {
    /// Exactly this port and the next, if both are free; any free pair for 0.
    pub(crate) fn claim(project: &Project, wanted: u16) -> Result<Self> {
        if wanted == 0 {
            return Self::any(project);
        }
        let Some(origin) = wanted.checked_add(1) else {
            bail!("port {wanted} has no port after it for the origin: choose a smaller --port")
        };
        for port in [wanted, origin] {
            if !free(port) {
                bail!(
                    "port {port} is taken: end the program that listens there, or choose another port with --port (it and the next one are used)"
                );
            }
        }
        Ok(Self {
            gate: wanted,
            _claim: None,
        })
    }

    /// The gate's port.
    pub(crate) fn gate(&self) -> u16 {
        self.gate
    }

    /// The origin's port.
    pub(crate) fn origin(&self) -> u16 {
        self.gate + 1
    }

    fn any(project: &Project) -> Result<Self> {
        // Neighbouring process ids start at different pairs, so that the claims seldom meet.
        let start = id().wrapping_mul(97);
        for step in 0..u32::from(PAIRS) {
            let pair = u16::try_from(start.wrapping_add(step) % u32::from(PAIRS)).unwrap_or(0);
            let gate = FIRST + 2 * pair;
            let Some(claim) = project.claim_port(gate)? else {
                continue;
            };
            if free(gate) && free(gate + 1) {
                return Ok(Self {
                    gate,
                    _claim: Some(claim),
                });
            }
        }
        None.with_context(|| {
            format!(
                "no two free ports between {FIRST} and {}",
                FIRST + 2 * PAIRS
            )
        })
    }
}

fn free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_named_with_what_to_do() {
        let project = Project::find().unwrap();
        let ports = Ports::claim(&project, 0).unwrap();
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, ports.origin())).unwrap();
        let error = Ports::claim(&project, ports.gate())
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.starts_with(&format!(
                "port {} is taken: end the program",
                ports.origin()
            )),
            "{error}"
        );
    }

    #[test]
    fn two_claims_never_share_a_port() {
        let project = Project::find().unwrap();
        let (one, two) = (
            Ports::claim(&project, 0).unwrap(),
            Ports::claim(&project, 0).unwrap(),
        );
        assert!(one.gate().abs_diff(two.gate()) >= 2);
        assert!(one.origin() < 32_768 && two.origin() < 32_768);
    }
}
