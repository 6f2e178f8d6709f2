//! The operations that the shard's alarm has to do something about: to settle, to ask, to report.
//!
//! Invariant: an operation that is unknown or disputed is on the list, and stays on it until it is
//! settled and the Desk has heard so. An operation that goes well is never on it, so that the usual
//! path pays no row for it.

use oncegate_core::identity::Identity;
use oncegate_core::operation::TroubleState;

use super::Store;
use super::database::{Database, Fault, Value};
use super::operations::{id, identity};
use super::sql;

/// An operation on the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data of one row")]
pub struct Attention {
    /// Which one.
    pub operation: Identity,
    /// Since when it is due.
    pub due_ms: u64,
    /// From when on the alarm may try to settle it.
    pub settle_ms: u64,
    /// How often it has tried.
    pub tries: u32,
    /// What the Desk has heard of it; nothing, or that it is settled.
    pub told: Option<TroubleState>,
}

impl<D: Database> Store<D> {
    /// Puts an operation on the list, to be looked at from `due_ms` on; `false` if it is on it already.
    pub fn note(&self, operation: &Identity, due_ms: u64) -> Result<bool, D::Error> {
        let values = vec![id(operation), Value::Integer(due_ms)];
        let rows = self.database.run(sql::NOTE, values)?;
        Ok(!rows.is_empty())
    }

    /// Has an operation that is on the list looked at not later than `due_ms`; `false` if it is not on
    /// it.
    pub fn hurry(&self, operation: &Identity, due_ms: u64) -> Result<bool, D::Error> {
        let values = vec![id(operation), Value::Integer(due_ms)];
        let rows = self.database.run(sql::HURRY, values)?;
        Ok(!rows.is_empty())
    }

    /// At most `limit` operations that are due.
    pub fn due(&self, now_ms: u64, limit: u64) -> Result<Vec<Attention>, D::Error> {
        let values = vec![Value::Integer(now_ms), Value::Integer(limit)];
        let rows = self.database.run(sql::DUE, values)?;
        let mut due = Vec::with_capacity(rows.len());
        for row in rows {
            due.push(attention::<D>(&row)?);
        }
        Ok(due)
    }

    /// Writes down when the operation is due again, before anything is done about it now.
    pub fn postpone(&self, attention: Attention) -> Result<(), D::Error> {
        let values = vec![
            id(&attention.operation),
            Value::Integer(attention.due_ms),
            Value::Integer(attention.settle_ms),
            Value::Integer(attention.tries.into()),
        ];
        self.database.run(sql::POSTPONE, values).map(drop)
    }

    /// Writes down what the Desk has heard of an operation that was due again at `due_ms`.
    pub fn heard(
        &self,
        operation: &Identity,
        told: Option<TroubleState>,
        due_ms: u64,
    ) -> Result<(), D::Error> {
        let values = vec![
            id(operation),
            Value::Integer(number(told)),
            Value::Integer(due_ms),
        ];
        self.database.run(sql::HEARD, values).map(drop)
    }

    /// Takes an operation that is due again at `due_ms` off the list, unless it was brought forward.
    pub fn rest(&self, operation: &Identity, due_ms: u64) -> Result<(), D::Error> {
        let values = vec![id(operation), Value::Integer(due_ms)];
        self.database.run(sql::REST, values).map(drop)
    }

    /// When the next operation on the list is due.
    pub fn next_due(&self) -> Result<Option<u64>, D::Error> {
        match self.first::<1>(sql::NEXT_DUE, Vec::new())? {
            Some([Value::Integer(due_ms)]) => Ok(Some(due_ms)),
            Some([Value::Null]) | None => Ok(None),
            Some(_) => Err(Fault::Row("next due").into()),
        }
    }
}

fn attention<D: Database>(row: &[Value<D::Bytes>]) -> Result<Attention, Fault> {
    let [
        Value::Bytes(bytes),
        Value::Integer(due_ms),
        Value::Integer(settle_ms),
        Value::Integer(tries),
        Value::Integer(told),
    ] = row
    else {
        return Err(Fault::Row("attention"));
    };
    Ok(Attention {
        operation: identity::<D>(bytes)?,
        due_ms: *due_ms,
        settle_ms: *settle_ms,
        tries: u32::try_from(*tries).map_err(|_| Fault::Row("tries"))?,
        told: told_of(*told)?,
    })
}

/// What was told, as it stands in rows.
fn number(told: Option<TroubleState>) -> u64 {
    match told {
        None => 0,
        Some(TroubleState::Unknown) => 1,
        Some(TroubleState::Held) => 2,
        Some(TroubleState::Disputed) => 3,
    }
}

fn told_of(number: u64) -> Result<Option<TroubleState>, Fault> {
    Ok(match number {
        0 => None,
        1 => Some(TroubleState::Unknown),
        2 => Some(TroubleState::Held),
        3 => Some(TroubleState::Disputed),
        _ => return Err(Fault::Row("told")),
    })
}
