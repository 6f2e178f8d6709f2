//! What the gate asks of a ledger: what became of a key, and to make sure that nothing will (rule L6).

use axum::Router;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::routing::post;
use oncegate_core::ledger::State as Became;
use oncegate_core::outcome::Outcome;

use super::{Gate, Reply, Signed};
use crate::ledger::{Failure, Verdict};
use crate::sql::Dialect;

/// A question, signed like every call of the gate.
struct Question(Signed);

impl<DB: Dialect> FromRequestParts<Gate<DB>> for Question {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, gate: &Gate<DB>) -> Result<Self, Reply> {
        gate.verify(parts).map(Self)
    }
}

impl<DB: Dialect> Gate<DB> {
    /// The routes of probe and cancel.
    pub(crate) fn questions<S>(&self) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        Router::new()
            .route("/.oncegate/ledger/probe", post(probe::<DB>))
            .route("/.oncegate/ledger/cancel", post(cancel::<DB>))
            .with_state(self.clone())
    }
}

async fn probe<DB: Dialect>(
    State(gate): State<Gate<DB>>,
    Question(signed): Question,
) -> Result<Reply, Reply> {
    let call = signed.question()?;
    let state = gate.ledger.probe(&call).await?;
    // Nothing is settled: an attempt may be open, or on its way. Only a cancel can rule that out.
    Ok(Reply::of_state(
        state.map_or(Outcome::Unknown, Became::outcome),
    ))
}

async fn cancel<DB: Dialect>(
    State(gate): State<Gate<DB>>,
    Question(signed): Question,
) -> Result<Reply, Reply> {
    let call = signed.question()?;
    let ledger = gate.ledger.clone();
    let work = gate.tasks.spawn(async move { ledger.cancel(&call).await });
    let verdict = work
        .await
        .unwrap_or_else(|error| Err(Failure::Unknown(error.into())));
    match verdict {
        Ok(Verdict::Cancelled) => Ok(Reply::of_state(Outcome::Cancelled)),
        // It comes too late, and hears what an attempt would hear.
        Ok(verdict) => Ok(verdict.into()),
        // A cancel that fails says nothing about the operation, least of all *not executed*.
        Err(failure) => Err(Reply::from(failure).with_outcome(Outcome::Unknown)),
    }
}
