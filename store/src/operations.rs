//! Finding and writing the row of an operation.

use oncegate_core::identity::Identity;
use oncegate_core::operation::{Operation, Trouble};

use super::Store;
use super::database::{Database, Fault, Value};
use super::row::{
    Answer, FOREVER_MS, StoredRequest, Written, answer_values, read_answer, read_body, read_record,
    request_values, write_record,
};
use super::sql;

/// What there is of an operation.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data of one row")]
pub struct Found<B> {
    /// The record.
    pub record: Option<Operation>,
    /// The answer in the row, whether or not the record still speaks of it.
    pub answer: Option<Answer<B>>,
    /// For writing the row.
    pub place: Place,
}

impl<B> Found<B> {
    /// What somebody should look at.
    pub fn trouble(&self, now_ms: u64) -> Option<Trouble> {
        self.record.as_ref()?.trouble(now_ms)
    }

    /// Whether the key counts as never seen.
    pub fn is_absent(&self, now_ms: u64) -> bool {
        let record = self.record.as_ref();
        record.is_none_or(|record| record.is_expired(now_ms))
    }
}

/// Where the row of an operation is. True until the caller awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two tables")]
pub enum Place {
    /// There is none.
    Absent,
    /// In the older table.
    Earlier,
    /// In the newer table.
    Newer,
}

/// What [`Store::open_after`] has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data of one look")]
pub struct Open {
    /// Operations that are not settled, or disputed.
    pub open: Vec<Identity>,
    /// The last one that was looked at, if there may be more.
    pub last: Option<Identity>,
}

type Columns<D, const N: usize> = [Value<<D as Database>::Bytes>; N];

impl<D: Database> Store<D> {
    /// The record of an operation and its answer, in one read.
    pub fn find(&self, now_ms: u64, operation: &Identity) -> Result<Found<D::Bytes>, D::Error> {
        self.turn(now_ms)?;
        let Some(row) = self.first::<5>(sql::FIND, vec![id(operation)])? else {
            return Ok(Found {
                record: None,
                answer: None,
                place: Place::Absent,
            });
        };
        let [
            Value::Text(record),
            status,
            headers,
            body,
            Value::Integer(newer),
        ] = row
        else {
            return Err(Fault::Row("operation").into());
        };
        Ok(Found {
            record: Some(read_record(&record)?),
            answer: read_answer::<D>([status, headers, body])?,
            place: if newer == 1 {
                Place::Newer
            } else {
                Place::Earlier
            },
        })
    }

    /// Writes a record, whose row is at `place`, and what is given with it. An answer that the record
    /// does not speak of goes, and so does the request of a settled operation: from then on they are
    /// nobody's.
    pub fn write(
        &self,
        operation: &Identity,
        place: Place,
        record: Operation,
        written: Written<'_, D::Bytes>,
    ) -> Result<(), D::Error> {
        let keep_until_ms = record.keep_until_ms().unwrap_or(FOREVER_MS);
        self.write_until(operation, place, record, written, keep_until_ms)
    }

    /// Writes a record that nobody depends on: its row may go at `keep_until_ms`, settled or not, and
    /// counts among the open ones never.
    pub fn write_until(
        &self,
        operation: &Identity,
        place: Place,
        record: Operation,
        written: Written<'_, D::Bytes>,
        keep_until_ms: u64,
    ) -> Result<(), D::Error> {
        let there = place != Place::Absent;
        let keeps_answer = there && written.answer.is_none() && record.has_stored_answer();
        let keeps_request = there && written.request.is_none() && !record.is_settled();
        if place == Place::Earlier && (keeps_answer || keeps_request) {
            self.database.run(sql::BRING_FORWARD, vec![id(operation)])?;
        }
        let statement = match (keeps_answer, keeps_request) {
            (false, false) => sql::WRITE,
            (true, false) => sql::WRITE_BUT_ANSWER,
            (false, true) => sql::WRITE_BUT_REQUEST,
            (true, true) => sql::WRITE_RECORD,
        };
        let request = written.request.filter(|_| !record.is_settled());
        let mut values = vec![
            id(operation),
            Value::Text(write_record(record)?),
            Value::Integer(keep_until_ms.min(FOREVER_MS)),
        ];
        values.extend(answer_values(written.answer)?);
        values.extend(request_values(request));
        self.database.run(statement, values)?;
        Ok(())
    }

    /// Drops what an older version of a row still says, once the newer one is written: what was erased
    /// must not wait for the older table to go.
    pub fn forget_earlier(&self, operation: &Identity) -> Result<(), D::Error> {
        self.database
            .run(sql::FORGET_EARLIER, vec![id(operation)])
            .map(drop)
    }

    /// The request that was stored with an operation that is not settled.
    pub fn request(
        &self,
        operation: &Identity,
    ) -> Result<Option<StoredRequest<D::Bytes>>, D::Error> {
        match self.first::<2>(sql::REQUEST, vec![id(operation)])? {
            None | Some([Value::Null, _]) => Ok(None),
            Some([Value::Text(head), body]) => Ok(Some(StoredRequest {
                head,
                body: read_body(body)?,
            })),
            Some(_) => Err(Fault::Row("request").into()),
        }
    }

    /// Looks at the next `limit` operations after `after`, whether or not their records can be read: what
    /// it reads does not grow with the number of rows.
    pub fn open_after(&self, after: Option<&Identity>, limit: u64) -> Result<Open, D::Error> {
        let after = after.map_or([0; 32], |operation| *operation.as_bytes());
        let values = vec![
            Value::Id(after),
            Value::Integer(FOREVER_MS),
            Value::Integer(limit),
        ];
        let mut found = Open::default();
        for row in self.database.run(sql::OPEN, values)? {
            match row.as_slice() {
                [Value::Bytes(bytes), Value::Integer(0)] => {
                    found.open.push(identity::<D>(bytes)?);
                }
                [Value::Bytes(bytes), Value::Integer(1)] => {
                    found.last = Some(identity::<D>(bytes)?);
                }
                [Value::Null, Value::Integer(1)] => {}
                _ => return Err(Fault::Row("open operation").into()),
            }
        }
        Ok(found)
    }

    /// The first row, of `N` columns.
    pub(crate) fn first<const N: usize>(
        &self,
        statement: &str,
        values: Vec<Value<D::Bytes>>,
    ) -> Result<Option<Columns<D, N>>, D::Error> {
        let Some(row) = self.database.run(statement, values)?.into_iter().next() else {
            return Ok(None);
        };
        let row = row.try_into().map_err(|_| Fault::Row("width"))?;
        Ok(Some(row))
    }
}

pub(crate) fn id<B>(operation: &Identity) -> Value<B> {
    Value::Id(*operation.as_bytes())
}

pub(crate) fn identity<D: Database>(bytes: &D::Bytes) -> Result<Identity, Fault> {
    let bytes = D::id(bytes).ok_or(Fault::Row("identity"))?;
    Ok(Identity::from_bytes(bytes))
}
