//! The operations that the shard's alarm has to do something about: to settle, to ask, to report.
//!
//! Invariant: an operation that is unknown or disputed is on the list, and stays on it until it is
//! settled and the Desk has heard so. An operation that goes well is never on it, so that the usual
//! path pays no row for it.

use oncegate_core::identity::Identity;

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
    /// How often the alarm has tried to settle it.
    pub tries: u32,
    /// What the Desk has heard of it.
    pub told: Told,
}

/// What the Desk has heard of an operation. The numbers are in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a new word is a new version")]
#[repr(u8)]
pub enum Told {
    /// Nothing, or that it is settled.
    Nothing = 0,
    /// That it is unknown.
    Unknown = 1,
    /// That it is held for a person.
    Held = 2,
    /// That it is disputed.
    Disputed = 3,
}

impl Told {
    fn parse(number: u64) -> Option<Self> {
        [Self::Nothing, Self::Unknown, Self::Held, Self::Disputed]
            .into_iter()
            .find(|told| *told as u64 == number)
    }
}

impl<D: Database> Store<D> {
    /// Puts an operation on the list, to be looked at not later than `due_ms`.
    pub fn attend(&self, operation: &Identity, due_ms: u64) -> Result<(), D::Error> {
        let values = vec![id(operation), Value::Integer(due_ms)];
        self.database.run(sql::ATTEND, values).map(drop)
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
    pub fn postpone(&self, attention: Attention, due_ms: u64) -> Result<(), D::Error> {
        let values = vec![
            id(&attention.operation),
            Value::Integer(due_ms),
            Value::Integer(attention.tries.into()),
            Value::Integer(attention.told as u64),
        ];
        self.database.run(sql::POSTPONE, values).map(drop)
    }

    /// Takes an operation off the list.
    pub fn rest(&self, operation: &Identity) -> Result<(), D::Error> {
        self.database.run(sql::REST, vec![id(operation)]).map(drop)
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
        Value::Integer(tries),
        Value::Integer(told),
    ] = row
    else {
        return Err(Fault::Row("attention"));
    };
    Ok(Attention {
        operation: identity::<D>(bytes)?,
        tries: u32::try_from(*tries).map_err(|_| Fault::Row("tries"))?,
        told: Told::parse(*told).ok_or(Fault::Row("told"))?,
    })
}
