//! Claims: who works on what, and what is done (decision 21).
//!
//! Invariant: the items of a message are decided one by one, each with its own row and nothing awaited
//! in between. A claim is nobody's trouble: one that nobody takes over again is its broker's to know, and
//! its row goes when no message of its age is taken any more.

use js_sys::{ArrayBuffer, Uint8Array};
use oncegate_core::claim::{self, Age, Decided, Maker, Owners};
use oncegate_core::header;
use oncegate_core::operation::{Operation, Terms};
use oncegate_store::Written;
use worker::{Error, Result};

use super::Inner;
use super::row::{Found, Row};
use crate::answer::Answer;
use crate::body;
use crate::claims::message::{Heard, Told, Wanted, WantedItem, WantedVerb};
use crate::fields::Fields;
use crate::platform::{self, now_ms};
use crate::wire::Response;

/// The status of a stored result: a row has one, and nobody is told.
const RESULT_STATUS: u16 = 200;

impl Inner {
    pub(super) async fn claims(&self, request: &web_sys::Request) -> Result<Response> {
        let body = body::whole_message(request).await?;
        let wanted: Wanted = serde_json::from_slice(&platform::bytes(&body))?;
        let items: Result<Vec<Told>> = wanted
            .items
            .iter()
            .map(|item| self.claim_item(&wanted, item))
            .collect();
        let heard = Heard {
            items: items?,
            rows_written: self.store(now_ms())?.database().take_written(),
        };
        let first = wanted.items.first().map(|item| item.operation.clone());
        let mut fields = Fields::default();
        fields.set(header::OPERATION, first.unwrap_or_default());
        let text = serde_json::to_string(&heard)?.into();
        Response::new(200, &fields, Some(&text))
    }

    fn claim_item(&self, wanted: &Wanted, item: &WantedItem) -> Result<Told> {
        let (now_ms, config) = (now_ms(), self.config()?);
        let found = self.find(now_ms, &item.operation)?;
        let is_new = found.is_absent(now_ms);
        let Found {
            row,
            record,
            answer,
        } = found;
        let secret = config.identity_secret.as_bytes();
        let owners = Owners::new(secret, row.operation);
        let decided = decide(
            now_ms,
            wanted,
            item,
            record,
            owners,
            config.claims_window_ms,
        )?;
        if is_new && decided.changed {
            // A tenant of another name than any customer's.
            let scope = format!("{}\n{}", claim::ROUTE, wanted.scope);
            if let Some(problem) = self.turn_away(now_ms, &scope)? {
                return Ok(Told::refused(&problem).about(item));
            }
        }
        let is_claim = matches!(wanted.verb, WantedVerb::Claim);
        let told = told(now_ms, &decided, owners, is_claim, answer.as_ref()).about(item);
        self.keep_claim(now_ms, row, decided, item)?;
        Ok(told)
    }

    fn keep_claim(&self, now_ms: u64, row: Row, decided: Decided, item: &WantedItem) -> Result<()> {
        let Some(record) = decided.record.filter(|_| decided.changed) else {
            return Ok(());
        };
        let result = decided.stores_result.then(|| Answer {
            status: RESULT_STATUS,
            headers: Vec::new(),
            body: item.result.as_deref().and_then(bytes),
        });
        let written = Written {
            answer: result.as_ref(),
            request: None,
        };
        let terms = record.terms();
        let kept_ms = terms.lease_ms + terms.key_ttl_ms;
        self.keep_for(now_ms, row, record, written, kept_ms)
    }
}

fn decide(
    now_ms: u64,
    wanted: &Wanted,
    item: &WantedItem,
    record: Option<Operation>,
    owners: Owners<'_>,
    window_ms: u64,
) -> Result<Decided> {
    let is_owner = owners.is_owner(record.as_ref(), &item.owner);
    Ok(match wanted.verb {
        WantedVerb::Claim => {
            let maker: Option<Maker> = wanted.maker;
            let maker = maker.ok_or_else(|| Error::from("a claim that nobody makes"))?;
            let terms: Terms = claim::terms(wanted.lease_ms, window_ms);
            let age = Age {
                sent_ms: item.sent_ms,
                window_ms,
            };
            claim::claim(record, now_ms, maker, &terms, age)
        }
        WantedVerb::Complete => claim::complete(record, now_ms, is_owner),
        WantedVerb::Heartbeat => claim::heartbeat(record, now_ms, is_owner, wanted.lease_ms),
        WantedVerb::Release => claim::release(record, now_ms, is_owner),
    })
}

/// What the caller hears. Only who claims is told the owner and the result.
fn told(
    now_ms: u64,
    decided: &Decided,
    owners: Owners<'_>,
    is_claim: bool,
    answer: Option<&Answer>,
) -> Told {
    use claim::Answer::{Acquired, Busy, Done, Held};
    let record = decided.record.as_ref();
    let ends_ms = record.and_then(|record| record.view(now_ms).lease_ends_ms);
    let acquired = record.filter(|_| decided.answer == Acquired);
    let has_result = is_claim && decided.answer == Done;
    let stored = answer.filter(|_| has_result && record.is_some_and(Operation::has_stored_answer));
    Told {
        answer: decided.answer.as_str().to_owned(),
        owner: acquired.map(|record| owners.owner(record)),
        fence: acquired.map(claim::fence),
        lease_ends_in_ms: ends_ms
            .filter(|_| matches!(decided.answer, Acquired | Busy | Held))
            .map(|ends_ms| ends_ms.saturating_sub(now_ms)),
        result: stored.and_then(|answer| answer.body.as_ref()).map(text),
        ..Told::default()
    }
}

impl Told {
    fn about(self, item: &WantedItem) -> Self {
        Self {
            operation: Some(item.operation.clone()),
            ..self
        }
    }
}

/// An empty result is as good as none.
fn bytes(text: &str) -> Option<ArrayBuffer> {
    (!text.is_empty()).then(|| Uint8Array::from(text.as_bytes()).buffer())
}

fn text(bytes: &ArrayBuffer) -> String {
    String::from_utf8_lossy(&platform::bytes(bytes)).into_owned()
}
