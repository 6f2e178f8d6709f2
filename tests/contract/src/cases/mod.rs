//! The cases. Each begins with an empty machine.

mod answers;
mod list;
mod records;
mod requests;
mod times;

pub(crate) use self::answers::*;
pub(crate) use self::list::*;
pub(crate) use self::records::*;
pub(crate) use self::requests::*;
pub(crate) use self::times::*;

use oncegate_core::identity::Identity;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::operation::{Operation, Settled, Settling, Terms};
use oncegate_core::proof::{Origin, Reply};
use oncegate_store::{Answer, Found, Place, Written};

use crate::shelf::Shelf;
use crate::usual::{self, fingerprint};

/// Some Sunday.
const NOW_MS: u64 = 1_796_000_000_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// As long as a shard's tables are written to before they turn.
const SPAN_MS: u64 = 7 * DAY_MS;

type Bytes = Vec<u8>;

fn identity(name: &str) -> Identity {
    let key = Key::parse(name).expect("a key of these tests");
    Identity::of_key(b"the secret of the contract", "shop.example", &key)
}

/// With a time that nothing outlives, and answers that live as long.
fn terms(key_ttl_ms: u64) -> Terms {
    Terms {
        result_ttl_ms: key_ttl_ms,
        key_ttl_ms,
        ledger_retention_ms: key_ttl_ms.saturating_mul(2),
        ..usual::terms(Origin::Ledger)
    }
}

/// A claim, as it is written before the first attempt leaves.
fn claimed(now_ms: u64) -> Operation {
    claimed_for(now_ms, KeyKind::Client, 7 * DAY_MS)
}

fn claimed_for(now_ms: u64, kind: KeyKind, key_ttl_ms: u64) -> Operation {
    let terms = terms(key_ttl_ms);
    Operation::arrive(None, now_ms, kind, &terms, None, fingerprint(1)).0
}

/// The origin has answered the newest attempt.
fn answered(
    record: Operation,
    now_ms: u64,
    attempt: u32,
    outcome: &'static str,
) -> (Operation, Settled) {
    let reply = Reply::Answered {
        status: 200,
        outcome: Some(outcome),
        value: None,
    };
    record.settle(
        now_ms,
        Settling {
            attempt,
            reply,
            storable: true,
            recorded: None,
        },
    )
}

fn executed(now_ms: u64) -> Operation {
    executed_for(now_ms, 7 * DAY_MS)
}

fn executed_for(now_ms: u64, key_ttl_ms: u64) -> Operation {
    let claim = claimed_for(now_ms, KeyKind::Client, key_ttl_ms);
    answered(claim, now_ms, 1, "executed").0
}

fn answer(text: &str) -> Answer<Bytes> {
    Answer {
        status: 201,
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body: Some(text.as_bytes().to_vec()),
    }
}

fn with(answer: &Answer<Bytes>) -> Written<'_, Bytes> {
    Written {
        answer: Some(answer),
        request: None,
    }
}

/// Claims and completes, as the shard does in the life of an operation that goes well.
fn complete(shelf: &impl Shelf, operation: &Identity, now_ms: u64, answer: &Answer<Bytes>) {
    let claim = claimed(now_ms);
    put(shelf, now_ms, operation, claim, Written::NOTHING);
    put(shelf, now_ms, operation, executed(now_ms), with(answer));
}

/// Finds the row and writes it, as the shard does without awaiting in between.
fn put(
    shelf: &impl Shelf,
    now_ms: u64,
    operation: &Identity,
    record: Operation,
    written: Written<'_, Bytes>,
) {
    let place = find(shelf, now_ms, operation).place;
    shelf
        .write(operation, place, record, written)
        .expect("a row is written");
}

fn find(shelf: &impl Shelf, now_ms: u64, operation: &Identity) -> Found<Bytes> {
    shelf.find(now_ms, operation).expect("a row is read")
}

#[track_caller]
fn assert_record(shelf: &impl Shelf, now_ms: u64, operation: &Identity, record: &Operation) {
    let found = find(shelf, now_ms, operation);
    assert_eq!(found.record.as_ref(), Some(record));
    assert_ne!(found.place, Place::Absent);
}

#[track_caller]
fn assert_answer(shelf: &impl Shelf, now_ms: u64, operation: &Identity, answer: &Answer<Bytes>) {
    let found = find(shelf, now_ms, operation).answer;
    assert!(found.as_ref() == Some(answer), "the answer is another one");
}
