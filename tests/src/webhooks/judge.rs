//! Sees what is committed and what is acknowledged, and compares.

use std::collections::BTreeMap;

use super::WebhookOracle;
use super::gate::event_of;
use super::shop::Commit;

#[derive(Default)]
pub(super) struct Judge {
    /// What its sender has sent: an event, and what it is about.
    pub(super) genuine: BTreeMap<String, u64>,
    commits: BTreeMap<String, u32>,
    effects: BTreeMap<u64, u32>,
    pub(super) failure: Option<(WebhookOracle, String)>,
}

impl Judge {
    pub(super) fn committed(&mut self, commit: &Commit) {
        let Commit {
            event,
            fact,
            had_effect,
        } = commit;
        let event = event_of(event);
        let is_genuine = self.genuine.get(event) == Some(fact);
        self.expect(is_genuine, WebhookOracle::NothingForged, || {
            format!("{event} about fact {fact}, which nobody has sent")
        });
        let commits = self.commits.entry(event.to_owned()).or_default();
        *commits += 1;
        let is_first = *commits == 1;
        self.expect(is_first, WebhookOracle::OnceAnEvent, || {
            format!("{event} is executed again")
        });
        if *had_effect {
            let effects = self.effects.entry(*fact).or_default();
            *effects += 1;
            let is_first = *effects == 1;
            self.expect(is_first, WebhookOracle::OnceAFact, || {
                format!("fact {fact} has a second effect, by {event}")
            });
        }
    }

    pub(super) fn is_executed(&self, event: &str) -> bool {
        self.commits.contains_key(event)
    }

    pub(super) fn effects(&self) -> u64 {
        self.effects.len() as u64
    }

    pub(super) fn expect(
        &mut self,
        holds: bool,
        oracle: WebhookOracle,
        what: impl FnOnce() -> String,
    ) {
        if !holds && self.failure.is_none() {
            self.failure = Some((oracle, what()));
        }
    }
}
