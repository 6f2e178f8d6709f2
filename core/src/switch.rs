//! The switch: what an operator changes about all routes, or about one, without a deploy.
//!
//! Invariant: a route does what was last said about it; if nothing was, what was last said about all
//! routes; if nothing was, what its configuration says.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::policy::{self, Route};

/// What happens to the requests of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Mode {
    /// What the route's configuration says.
    #[default]
    Enforce,
    /// They pass untouched and unprotected; what would have been decided is counted and logged.
    Observe,
    /// They are turned away.
    Refuse,
}

impl Mode {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
            Self::Refuse => "refuse",
        }
    }
}

/// A position of the switch, and who put it there.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a fact left out must be a compile error"
)]
pub struct Position {
    /// What happens.
    pub mode: Mode,
    /// Who wants it.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub since_ms: u64,
}

/// The positions of the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Switch {
    all: Option<Position>,
    #[serde(default)]
    routes: BTreeMap<String, Position>,
}

impl Switch {
    /// Sets it for a route, or for all that have no position of their own.
    pub fn set(&mut self, route: Option<String>, position: Position) {
        match route {
            Some(route) => {
                self.routes.insert(route, position);
            }
            None => self.all = Some(position),
        }
    }

    /// What happens to the requests of this route.
    pub fn mode(&self, route: &str) -> Mode {
        let position = self.routes.get(route).or(self.all.as_ref());
        position.map_or_else(Mode::default, |position| position.mode)
    }

    /// What happens to the requests of this route, by the switch and by its configuration.
    pub fn of(&self, route: &Route) -> Mode {
        match (self.mode(&route.name), route.mode) {
            (Mode::Enforce, policy::Mode::Observe) => Mode::Observe,
            (mode, _) => mode,
        }
    }

    /// Every position that was set, with its route.
    pub fn positions(&self) -> impl Iterator<Item = (Option<&str>, &Position)> {
        let all = self.all.iter().map(|position| (None, position));
        let routes = self.routes.iter();
        all.chain(routes.map(|(route, position)| (Some(route.as_str()), position)))
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn set(switch: &mut Switch, route: Option<&str>, mode: Mode) {
        let position = Position {
            mode,
            actor: "anna".to_owned(),
            reason: "drill".to_owned(),
            since_ms: 1,
        };
        switch.set(route.map(str::to_owned), position);
    }

    #[test]
    fn a_route_can_be_observed_by_its_configuration_and_closed_by_the_switch() {
        let route = |mode: &str| {
            let config = alloc::format!(
                r#"{{"name":"pay","methods":["POST"],"path":"/","origin":"none","mode":"{mode}"}}"#
            );
            let config = [serde_json::from_str(&config).unwrap()];
            policy::Policy::new(&config, false).unwrap().routes()[0].clone()
        };
        let (enforced, observed) = (route("enforce"), route("observe"));
        let mut switch = Switch::default();
        assert_eq!(
            (switch.of(&enforced), switch.of(&observed)),
            (Mode::Enforce, Mode::Observe)
        );
        set(&mut switch, None, Mode::Observe);
        assert_eq!(switch.of(&enforced), Mode::Observe);
        set(&mut switch, None, Mode::Refuse);
        assert_eq!(
            (switch.of(&enforced), switch.of(&observed)),
            (Mode::Refuse, Mode::Refuse)
        );
    }

    #[test]
    fn a_switch_that_nobody_has_touched_enforces() {
        assert_eq!(Switch::default().mode("pay"), Mode::Enforce);
    }

    #[test]
    fn a_route_does_what_was_last_said_about_it_before_what_was_said_about_all() {
        let mut switch = Switch::default();
        set(&mut switch, None, Mode::Refuse);
        assert_eq!(switch.mode("pay"), Mode::Refuse);
        set(&mut switch, Some("pay"), Mode::Observe);
        assert_eq!(switch.mode("pay"), Mode::Observe);
        assert_eq!(switch.mode("refund"), Mode::Refuse);
        set(&mut switch, Some("pay"), Mode::Enforce);
        assert_eq!(switch.mode("pay"), Mode::Enforce);
        set(&mut switch, None, Mode::Observe);
        assert_eq!(switch.mode("pay"), Mode::Enforce);
        assert_eq!(switch.mode("refund"), Mode::Observe);
        assert_eq!(switch.positions().count(), 2);
    }
}
