//! An origin was asked what became of a key (rules A6, L6).

use std::rc::Rc;

use oncegate_core::operation::{Hearing, Terms};
use oncegate_core::outcome::Outcome;
use oncegate_core::proof::Origin;
use oncegate_store::Written;
use worker::{Date, Response, ResponseBuilder, Result};

use super::Inner;
use super::row::Found;
use crate::errand;
use crate::log;
use crate::message::{Probed, Reply};
use crate::platform::Service;
use crate::waiters::News;
use crate::wire::{self, Call};

impl Inner {
    /// Sends a courier to ask; what it hears comes back as a message of its own.
    pub(super) fn send_to_ask(self: &Rc<Self>, courier: Service, call: Call) {
        self.state.wait_until(async move {
            if let Err(error) = wire::call(&courier, &call).await {
                log::warn("courier_of_question_lost").detail(error).write();
            }
        });
    }

    /// Takes what the origin said, if it proves anything.
    pub(super) fn probed(&self, probed: &Probed) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let Found { row, record, .. } = self.find(now_ms, &probed.operation)?;
        let Some(record) = record else {
            return Ok(ResponseBuilder::new().empty());
        };
        let hearing = probed.hearing(self.said(probed, record.terms())?);
        if let Some((record, _)) = record.answered_probe(now_ms, hearing) {
            self.keep(now_ms, row, record, Written::NOTHING)?;
            self.waiters.tell(&row.operation, &News::Record);
        }
        Ok(ResponseBuilder::new().empty())
    }

    /// A ledger is believed by its word, another origin by what its route lists.
    fn said(&self, probed: &Probed, terms: &Terms) -> Result<Outcome> {
        let Reply::Answered {
            status, outcome, ..
        } = &probed.reply
        else {
            return Ok(Outcome::Unknown);
        };
        let word = match terms.origin {
            Origin::Ledger => outcome.as_deref().and_then(Outcome::parse),
            Origin::Read => {
                let config = self.config()?;
                errand::how_to_ask(terms, &config).map(|ask| ask.judge(*status))
            }
            Origin::None => None,
        };
        Ok(word.unwrap_or(Outcome::Unknown))
    }
}

impl Probed {
    /// What says what became of a key is not the answer that was given under it.
    fn hearing(&self, said: Outcome) -> Hearing {
        let recorded = match &self.reply {
            Reply::Answered { recorded, .. } => *recorded,
            Reply::Lost => None,
        };
        Hearing {
            asked_attempt: self.asked_attempt,
            asked_ms: self.asked_ms,
            said,
            storable: false,
            recorded,
        }
    }
}
