//! Sees every effect and everything that is said about it, and compares.
//!
//! Invariant: the witness knows what no part of the system knows (which effects exist, which attempts
//! can still have one) and takes part in nothing. The first contradiction ends the run.
//!
//! A sentence that forbids the future, such as *failed*, is kept and held against every effect to
//! come: runs go on until every message has arrived.

mod oracle;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use oncegate_core::attempt::End;
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{State, View};
use oncegate_core::outcome::Status;

pub use oracle::{Oracle, Violation};

use crate::model::{Body, CourierId, KeyId, Payload, Response, Text};

/// See the module.
#[derive(Debug)]
pub struct Witness {
    kind: KeyKind,
    effects: Vec<Effect>,
    keys: BTreeMap<KeyId, Facts>,
    texts: BTreeMap<Rc<str>, (KeyId, Fingerprint)>,
    violation: Option<Violation>,
}

#[derive(Debug)]
struct Effect {
    key: KeyId,
    payload: Payload,
    text: Rc<str>,
    courier: CourierId,
}

/// What is known of one key.
#[derive(Debug, Default)]
struct Facts {
    /// Attempts that can still have an effect. Copies that the network made do not count: nobody
    /// could know of them, which is why *released* is no promise (I8).
    alive: BTreeMap<CourierId, Fingerprint>,
    /// Payloads of which a refusal is committed.
    barred: Vec<Fingerprint>,
    /// Attempts of which the origin truly said that they had no effect.
    without_effect: BTreeSet<CourierId>,
    /// What was said that forbids an effect.
    forbidden: Vec<(Oracle, Option<Fingerprint>)>,
    executed_said: bool,
}

impl Witness {
    pub(crate) fn new(kind: KeyKind) -> Self {
        Self {
            kind,
            effects: Vec::new(),
            keys: BTreeMap::new(),
            texts: BTreeMap::new(),
            violation: None,
        }
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    pub(crate) fn effects(&self) -> usize {
        self.effects.len()
    }

    pub(crate) fn effects_of(&self, purchase: usize) -> usize {
        let of_purchase = |effect: &&Effect| effect.payload.purchase == purchase;
        self.effects.iter().filter(of_purchase).count()
    }

    /// An attempt is handed over.
    pub(crate) fn begins(&mut self, key: KeyId, payload: Payload, courier: CourierId) {
        let fingerprint = payload.fingerprint();
        let per_payload = self.kind == KeyKind::Generated;
        let facts = self.facts(key);
        let is_barred = |barred: &Fingerprint| !per_payload || *barred == fingerprint;
        if !facts.barred.iter().any(is_barred) {
            facts.alive.insert(courier, fingerprint);
        }
    }

    /// An attempt can no longer have an effect, because it had one, was rolled back, or is lost.
    pub(crate) fn ends(&mut self, key: KeyId, courier: CourierId) {
        self.facts(key).alive.remove(&courier);
    }

    /// A refusal is committed: what asks for the same can no longer have an effect, however late. Under
    /// an order number another card can (P4).
    pub(crate) fn bars(&mut self, key: KeyId, payload: Payload) {
        let barred = payload.fingerprint();
        let per_payload = self.kind == KeyKind::Generated;
        let facts = self.facts(key);
        facts.barred.push(barred);
        facts
            .alive
            .retain(|_, fingerprint| per_payload && *fingerprint != barred);
    }

    /// The origin truly says that an attempt had no effect.
    pub(crate) fn had_no_effect(&mut self, key: KeyId, courier: CourierId) {
        self.facts(key).without_effect.insert(courier);
    }

    /// An effect is committed.
    pub(crate) fn effect(&mut self, key: KeyId, payload: Payload, courier: CourierId) -> Text {
        self.check_one(key, payload);
        self.check_forbidden(key, payload.fingerprint());
        let text = self.write(key, payload, "order");
        self.effects.push(Effect {
            key,
            payload,
            text: Rc::clone(&text.bytes),
            courier,
        });
        text
    }

    /// A refusal is made out.
    pub(crate) fn refusal(&mut self, key: KeyId, payload: Payload) -> Text {
        self.write(key, payload, "refusal")
    }

    /// The shard has taken in a reply.
    pub(crate) fn taken_in(&mut self, key: KeyId, proves_execution: bool, view: &View) {
        let counts = !proves_execution || view.state == State::Executed;
        self.expect(counts, Oracle::ProofCounts, || {
            let state = view.state.as_str();
            format!("an attempt of {key} was executed, and its record says {state}")
        });
    }

    /// Somebody hears of an operation that is another one's.
    pub(crate) fn told_a_stranger(&mut self, key: KeyId, response: &Response) {
        let tells = response.status.is_some() || response.text().is_some();
        self.expect(!tells, Oracle::AnswerIsOurs, || {
            format!("{response} goes to somebody to whom {key} does not belong")
        });
    }

    /// What a look-up would say of a record, from now on.
    pub(crate) fn stated(&mut self, key: KeyId, asked_for: Option<Fingerprint>, view: &View) {
        let executed = self.effects.iter().any(|effect| effect.key == key);
        match view.state {
            State::Executed => {
                self.expect(executed, Oracle::ExecutedIsTrue, || {
                    format!("the record of {key} says executed, and there is no effect")
                });
                self.facts(key).executed_said = true;
            }
            State::Cancelled => self.forbid(Oracle::FailedIsFinal, key, None),
            State::Refused => self.forbid(Oracle::FailedIsFinal, key, asked_for),
            State::Released => self.check_released(key),
            State::Dispatched | State::Unknown => {}
        }
        if view.safe_new_key {
            self.forbid(Oracle::SafeNewKeyIsSafe, key, None);
        }
        if view.state != State::Executed {
            let said = self.facts(key).executed_said;
            self.expect(!said, Oracle::NothingIsTakenBack, || {
                let state = view.state.as_str();
                format!("{key} was said to be executed, and now its record says {state}")
            });
        }
    }

    /// An answer leaves the gate.
    pub(crate) fn answered(&mut self, key: KeyId, payload: Payload, response: &Response) {
        let fingerprint = payload.fingerprint();
        self.check_text(key, fingerprint, response);
        match response.status {
            Some(Status::Executed | Status::Replayed) => {
                let executed = self.effects.iter().any(|effect| effect.key == key);
                self.expect(executed, Oracle::ExecutedIsTrue, || {
                    format!("{response} for {key}, and there is no effect")
                });
                self.facts(key).executed_said = true;
            }
            Some(Status::Refused) => self.forbid(Oracle::FailedIsFinal, key, Some(fingerprint)),
            Some(Status::Cancelled) => self.forbid(Oracle::FailedIsFinal, key, None),
            _ => {}
        }
        let safe_new_key = match &response.body {
            Body::Problem(problem) => problem.safe_new_key,
            Body::Seen(view) => view.as_ref().is_some_and(|view| view.safe_new_key),
            Body::Text(_) => false,
        };
        if safe_new_key {
            self.forbid(Oracle::SafeNewKeyIsSafe, key, None);
        }
    }

    /// A customer is told how it ended.
    pub(crate) fn heard(&mut self, key: KeyId, payload: Payload, end: End, text: Option<&Text>) {
        match end {
            End::Done { .. } => {
                let charged = self.effects_of(payload.purchase) > 0;
                self.expect(charged, Oracle::ExecutedIsTrue, || {
                    format!(
                        "customer {} hears done and is not charged",
                        payload.purchase
                    )
                });
                self.check_done(key, text);
            }
            End::Failed(_) => {
                self.forbid(Oracle::FailedIsFinal, key, Some(payload.fingerprint()));
            }
            End::Unknown(_) => {}
        }
    }

    /// Something that should hold does not.
    pub(crate) fn expect(&mut self, holds: bool, oracle: Oracle, what: impl FnOnce() -> String) {
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation {
                oracle,
                text: what(),
            });
        }
    }

    fn facts(&mut self, key: KeyId) -> &mut Facts {
        self.keys.entry(key).or_default()
    }

    fn write(&mut self, key: KeyId, payload: Payload, kind: &str) -> Text {
        let number = self.texts.len();
        let bytes: Rc<str> = format!("{kind} {number} of {key}, card {}", payload.card).into();
        let about = (key, payload.fingerprint());
        self.texts.insert(Rc::clone(&bytes), about);
        Text {
            bytes,
            recorded: None,
        }
    }

    fn check_one(&mut self, key: KeyId, payload: Payload) {
        let mut of_key = self.effects.iter().filter(|effect| effect.key == key);
        let first_of_key = of_key.next().is_none();
        self.expect(first_of_key, Oracle::OneEffectPerKey, || {
            format!("a second effect under {key}")
        });
        let first = self.effects_of(payload.purchase) == 0;
        self.expect(first, Oracle::OneEffectPerPurchase, || {
            format!(
                "customer {} is charged again, under {key}",
                payload.purchase
            )
        });
    }

    fn check_forbidden(&mut self, key: KeyId, fingerprint: Fingerprint) {
        let about =
            |(_, only): &&(Oracle, Option<Fingerprint>)| only.is_none_or(|f| f == fingerprint);
        let forbidden = self.facts(key).forbidden.iter().find(about).copied();
        if let Some((oracle, _)) = forbidden {
            self.expect(false, oracle, || {
                format!("an effect under {key}, of which it was said that there can be none")
            });
        }
    }

    /// From now on there must be no effect of this key; of this fingerprint only, if the key is an
    /// order number that another card may be tried for (P4).
    fn forbid(&mut self, oracle: Oracle, key: KeyId, fingerprint: Option<Fingerprint>) {
        let only = fingerprint.filter(|_| self.kind == KeyKind::Generated);
        let executed = self.effects.iter().any(|effect| {
            effect.key == key && only.is_none_or(|only| only == effect.payload.fingerprint())
        });
        self.expect(!executed, oracle, || {
            format!("{key} is said to have no effect, and there is one")
        });
        let forbidden = &mut self.facts(key).forbidden;
        if !forbidden.contains(&(oracle, only)) {
            forbidden.push((oracle, only));
        }
    }

    /// *Released*: no attempt can still have an effect, and none had one.
    fn check_released(&mut self, key: KeyId) {
        let facts = self.facts(key);
        let alive = facts.alive.len();
        let without_effect = facts.without_effect.clone();
        self.expect(alive == 0, Oracle::NotExecutedIsTrue, || {
            format!("the record of {key} says released, and {alive} attempts can still execute")
        });
        // An effect of a copy, made after the original had honestly failed, contradicts nobody.
        let hidden = self
            .effects
            .iter()
            .all(|effect| effect.key != key || without_effect.contains(&effect.courier));
        self.expect(hidden, Oracle::NotExecutedIsTrue, || {
            format!("the record of {key} says released, and there is an effect")
        });
    }

    fn check_text(&mut self, key: KeyId, fingerprint: Fingerprint, response: &Response) {
        let Some(text) = response.text() else {
            return;
        };
        let about = self.texts.get(&text.bytes).copied();
        self.expect(
            about == Some((key, fingerprint)),
            Oracle::AnswerIsOurs,
            || format!("{response} goes to a request with another payload, under {key}"),
        );
    }

    /// Without bytes, *done* says only that the purchase is paid: a gate that met the effect of another
    /// payload knows that it exists, not whose it is.
    fn check_done(&mut self, key: KeyId, text: Option<&Text>) {
        let effect = self.effects.iter().find(|effect| effect.key == key);
        let exists = effect.is_some();
        let bytes = effect.map(|effect| Rc::clone(&effect.text));
        self.expect(exists, Oracle::ExecutedIsTrue, || {
            format!("a customer hears done for {key}, and there is no effect")
        });
        if let Some(text) = text {
            self.expect(
                Some(&text.bytes) == bytes.as_ref(),
                Oracle::AnswerIsOurs,
                || {
                    format!(
                        "a customer gets \"{}\", which no effect of {key} produced",
                        text.bytes
                    )
                },
            );
        }
    }
}
