//! The ledger's rows, and answers made from them.

use std::collections::BTreeMap;

use oncegate_core::ledger::{Recorded, Row, State, settled};
use oncegate_core::outcome::Outcome;
use oncegate_core::proof::Origin;

use crate::env::Env;
use crate::model::{Answered, KeyId, Payload, Text};

/// What proxies say on their own. Without a ledger, a proxy that says 4xx after the commit is a lie
/// that nobody can see through (A6): such worlds get the statuses that prove nothing.
const PROXY: [u16; 9] = [400, 402, 403, 404, 429, 500, 502, 503, 504];
const HONEST_PROXY: [u16; 4] = [500, 502, 503, 504];

#[derive(Debug, Default)]
pub(super) struct Rows(BTreeMap<KeyId, Vec<Row<Option<Text>>>>);

impl Rows {
    pub(super) fn of(&self, key: KeyId) -> &[Row<Option<Text>>] {
        self.0.get(&key).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn settled(&self, key: KeyId, payload: Payload) -> Option<State> {
        settled(self.of(key), &payload.fingerprint()).map(|row| row.state)
    }

    pub(super) fn insert(
        &mut self,
        key: KeyId,
        payload: Payload,
        state: State,
        answer: Option<Text>,
    ) {
        let row = Row {
            state,
            fingerprint: payload.fingerprint(),
            answer,
        };
        self.0.entry(key).or_default().push(row);
    }
}

impl From<&Row<Option<Text>>> for Answered {
    fn from(row: &Row<Option<Text>>) -> Self {
        let http = match row.state {
            State::Cancelled => 410,
            State::Executed => 201,
            State::Refused => 402,
        };
        Self {
            http,
            outcome: Some(row.state.outcome()),
            text: row.answer.clone(),
        }
    }
}

/// An answer of the ledger that is about the attempt only.
pub(super) fn said(http: u16, outcome: Outcome) -> Answered {
    Answered {
        http,
        outcome: Some(outcome),
        text: None,
    }
}

/// Another fingerprint has the key.
pub(super) fn reused(recorded: Recorded) -> Answered {
    Answered {
        http: 422,
        outcome: Some(recorded.state.outcome()),
        text: Some(Text {
            bytes: "key_reused".into(),
            recorded: Some(recorded.fingerprint),
        }),
    }
}

/// A status and nothing else.
pub(crate) fn bare(http: u16) -> Answered {
    Answered {
        http,
        outcome: None,
        text: None,
    }
}

pub(crate) fn bare_status(env: &mut Env) -> u16 {
    match env.settings.terms.origin {
        Origin::Ledger => env.random.pick(&PROXY),
        Origin::None | Origin::Read => env.random.pick(&HONEST_PROXY),
    }
}
