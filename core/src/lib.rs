//! The pure engine of Oncegate.
//!
//! Everything that decides whether a request may have an effect lives here; everything that acts
//! (fetches, stores, sleeps) lives in the shells. The crate has no clock, no randomness, no I/O and
//! no JavaScript: `now` and seeds are arguments. The same code therefore runs in the browser, at the
//! edge, at the origin and in the simulator, and decides the same everywhere.
//!
//! # Map
//!
//! | module | decides | used by |
//! | --- | --- | --- |
//! | [`key`] | what is an idempotency key | every tier |
//! | [`fingerprint`] | which two requests ask for the same | every tier |
//! | [`body`] | what a body says, and which key it carries | edge |
//! | [`breaker`] | whether an origin has to be tested before anything is claimed | edge |
//! | [`deadline`] | how long a call to an origin is listened to | edge |
//! | [`identity`] | under which name an operation is stored, and where | edge |
//! | [`principal`] | whose an operation is | edge |
//! | [`outcome`] | the words of the wire: `Idempotency-Outcome`, `Idempotency-Status` | every tier |
//! | [`jwt`] | whether a token says who calls | edge |
//! | [`stamp`] | whether a message is the gate's own | edge |
//! | [`forwarded`] | what an origin is told of the way of a request | edge |
//! | [`sealing`] | with which secrets stored answers and requests are encrypted | edge |
//! | [`signature`] | whether a call comes from the gate | edge, origin |
//! | [`token`] | whether a key is one that the gate has issued | edge |
//! | [`policy`] | which requests are protected, and how | edge |
//! | [`proof`] | what an origin's answer proves about its attempt | edge |
//! | [`queue`] | which request a message of a queue is, and what becomes of it | edge |
//! | [`quota`] | how many new operations a tenant may begin | edge |
//! | [`recent`] | which answer may be given again for a moment without asking its shard | edge |
//! | [`operation`] | the life of an operation at the edge | edge |
//! | [`claim`] | who works on a message or job, and that it is done once | edge |
//! | [`lock`] | who has a named lock, and who is next | edge |
//! | [`alert`] | when somebody is told of operations in trouble | edge |
//! | [`webhook`] | whether an event comes from its sender, and which one it is | edge |
//! | [`switch`] | what an operator has changed without a deploy | edge |
//! | [`problem`] | the gate's own answers | edge |
//! | [`metrics`] | what was decided, added up | edge |
//! | [`ledger`] | what the origin does with a key it may know | origin |
//! | [`lifecycle`] | which moves between states are legal, and what a compare-and-set came to | origin |
//! | [`intent`] | which key an intent has | browser |
//! | [`attempt`] | when the client sends, waits and stops | browser |
//! | [`backoff`], [`retry_after`] | how long it waits | browser |
//!
//! # Out of scope
//!
//! Fetching, storing, sleeping, logging. A shell that needs a decision asks for it here.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod alert;
pub mod attempt;
pub mod backoff;
pub mod body;
pub mod breaker;
pub mod claim;
pub mod cron;
pub mod deadline;
pub mod fingerprint;
pub mod forwarded;
pub mod header;
pub mod hex;
pub mod identity;
pub mod intent;
pub mod jwt;
pub mod key;
pub mod ledger;
pub mod lifecycle;
pub mod lock;
pub mod metrics;
pub mod operation;
pub mod outcome;
pub mod policy;
pub mod principal;
pub mod problem;
pub mod proof;
pub mod queue;
pub mod quota;
pub mod recent;
pub mod retry_after;
pub mod sealing;
pub mod signature;
pub mod stamp;
pub mod switch;
pub mod token;
pub mod webhook;
