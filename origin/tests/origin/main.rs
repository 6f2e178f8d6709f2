//! The origin against the rules of section 6 of the protocol: real databases, real HTTP.
//!
//! A test's name begins with the rule that it holds the origin to.

mod admin;
mod books;
mod bounds;
mod callers;
mod cancel;
mod client;
mod faults;
mod file;
mod fixture;
mod gate;
mod ledger;
mod lent;
mod orders;
mod outage;
mod outside;
mod process;
mod purge;
mod routed;
mod rows;
mod scenarios;
mod shop;
mod signature;
mod storm;
mod unfinished;
