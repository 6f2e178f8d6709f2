//! What a store is to the cases: its own methods, with bodies as bytes and errors as sentences.

use std::fmt::Debug;

use oncegate_core::identity::Identity;
use oncegate_core::operation::{Operation, TroubleState};
use oncegate_store::{
    Answer, Attention, Database, Found, Open, Place, Store, StoredRequest, Written,
};

/// Something that has a database, empty at first.
pub trait Machine {
    /// Its store.
    type Shelf: Shelf;

    /// Opens the database, as every successor of an object does.
    fn open(&self, now_ms: u64) -> Self::Shelf;
}

type Bytes = Vec<u8>;

/// See the methods of [`Store`].
#[expect(
    missing_docs,
    reason = "the store's own methods, under their own names"
)]
pub trait Shelf {
    fn find(&self, now_ms: u64, operation: &Identity) -> Result<Found<Bytes>, String>;
    fn write(
        &self,
        operation: &Identity,
        place: Place,
        record: Operation,
        written: Written<'_, Bytes>,
    ) -> Result<(), String>;
    fn forget_earlier(&self, operation: &Identity) -> Result<(), String>;
    fn request(&self, operation: &Identity) -> Result<Option<StoredRequest<Bytes>>, String>;
    fn open_after(&self, after: Option<&Identity>, limit: u64) -> Result<Open, String>;
    fn note(&self, operation: &Identity, due_ms: u64) -> Result<bool, String>;
    fn hurry(&self, operation: &Identity, due_ms: u64) -> Result<bool, String>;
    fn due(&self, now_ms: u64, limit: u64) -> Result<Vec<Attention>, String>;
    fn postpone(&self, attention: Attention) -> Result<(), String>;
    fn heard(
        &self,
        operation: &Identity,
        told: Option<TroubleState>,
        due_ms: u64,
    ) -> Result<(), String>;
    fn rest(&self, operation: &Identity, due_ms: u64) -> Result<(), String>;
    fn next_due(&self) -> Result<Option<u64>, String>;
}

/// Bytes as a database's shell holds them.
pub trait Blob {
    /// Takes bytes in.
    fn of(bytes: &[u8]) -> Self;
    /// Gives them back.
    fn to_bytes(&self) -> Bytes;
}

impl<D> Shelf for Store<D>
where
    D: Database<Bytes: Blob, Error: Debug>,
{
    fn find(&self, now_ms: u64, operation: &Identity) -> Result<Found<Bytes>, String> {
        let found = said(self.find(now_ms, operation))?;
        Ok(Found {
            record: found.record,
            answer: found.answer.map(|answer| Answer {
                status: answer.status,
                headers: answer.headers,
                body: answer.body.map(|body| body.to_bytes()),
            }),
            place: found.place,
        })
    }

    fn write(
        &self,
        operation: &Identity,
        place: Place,
        record: Operation,
        written: Written<'_, Bytes>,
    ) -> Result<(), String> {
        let answer = written.answer.map(|answer| Answer {
            status: answer.status,
            headers: answer.headers.clone(),
            body: answer.body.as_deref().map(D::Bytes::of),
        });
        let request = written.request.map(|request| StoredRequest {
            head: request.head.clone(),
            body: request.body.as_deref().map(D::Bytes::of),
        });
        let written = Written {
            answer: answer.as_ref(),
            request: request.as_ref(),
        };
        said(self.write(operation, place, record, written))
    }

    fn forget_earlier(&self, operation: &Identity) -> Result<(), String> {
        said(self.forget_earlier(operation))
    }

    fn request(&self, operation: &Identity) -> Result<Option<StoredRequest<Bytes>>, String> {
        let request = said(self.request(operation))?;
        Ok(request.map(|request| StoredRequest {
            head: request.head,
            body: request.body.map(|body| body.to_bytes()),
        }))
    }

    fn open_after(&self, after: Option<&Identity>, limit: u64) -> Result<Open, String> {
        said(self.open_after(after, limit))
    }

    fn note(&self, operation: &Identity, due_ms: u64) -> Result<bool, String> {
        said(self.note(operation, due_ms))
    }

    fn hurry(&self, operation: &Identity, due_ms: u64) -> Result<bool, String> {
        said(self.hurry(operation, due_ms))
    }

    fn due(&self, now_ms: u64, limit: u64) -> Result<Vec<Attention>, String> {
        said(self.due(now_ms, limit))
    }

    fn postpone(&self, attention: Attention) -> Result<(), String> {
        said(self.postpone(attention))
    }

    fn heard(
        &self,
        operation: &Identity,
        told: Option<TroubleState>,
        due_ms: u64,
    ) -> Result<(), String> {
        said(self.heard(operation, told, due_ms))
    }

    fn rest(&self, operation: &Identity, due_ms: u64) -> Result<(), String> {
        said(self.rest(operation, due_ms))
    }

    fn next_due(&self) -> Result<Option<u64>, String> {
        said(self.next_due())
    }
}

fn said<T>(result: Result<T, impl Debug>) -> Result<T, String> {
    result.map_err(|error| format!("{error:?}"))
}
