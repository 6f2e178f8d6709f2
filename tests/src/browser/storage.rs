//! What a browser stores for an intent, after [`oncegate_core::attempt::record`].
//!
//! Invariant: an intent's epoch never falls, and an executed epoch stays executed. All tabs of a
//! customer write the same record without a lock, so every change reads first.

use oncegate_core::intent::InstallSecret;

use super::Customer;
use crate::env::Env;
use crate::model::{Card, KeyId};
use oncegate_core::key::{Key, KeyKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Executed,
    None,
    Open,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) epoch: u64,
    pub(super) key: KeyId,
    pub(super) phase: Phase,
    /// The payload that was sent, or executed; `None` if that is not known.
    pub(super) card: Option<Card>,
    pub(super) sends: u32,
}

/// The record with which an epoch begins.
pub(super) fn fresh(env: &mut Env, secret: &InstallSecret, epoch: u64) -> Record {
    Record {
        epoch,
        key: key(env, secret, epoch),
        phase: Phase::None,
        card: None,
        sends: 0,
    }
}

pub(super) fn key(env: &mut Env, secret: &InstallSecret, epoch: u64) -> KeyId {
    let key = match env.settings.kind {
        // An order number is the same in every epoch.
        KeyKind::Generated => order_number(secret),
        KeyKind::Client | KeyKind::Token => secret.key("cart", epoch),
    };
    env.intern(&key)
}

/// The first number of which a double cannot tell the next one.
const FIRST_ORDER: u64 = 1 << 53;

fn order_number(secret: &InstallSecret) -> Key {
    let customer = u64::from_str_radix(&secret.to_hex()[..2], 16).unwrap_or_default();
    let number = (FIRST_ORDER + customer).to_string();
    Key::parse(&number).expect("digits are a key")
}

pub(super) fn current(env: &mut Env, customer: &Customer) -> Record {
    match customer.record {
        record if record.phase != Phase::None => record,
        ended => fresh(env, &customer.secret, ended.epoch),
    }
}

/// Counts and stores a send that is about to be made.
pub(super) fn before_send(customer: &mut Customer, record: &mut Record, card: Card) {
    let theirs = customer.record;
    // Another tab may have sent the same key meanwhile.
    if theirs.epoch == record.epoch && theirs.phase != Phase::None {
        *record = theirs;
    }
    record.sends += 1;
    if record.phase != Phase::Executed {
        record.phase = Phase::Open;
        record.card = Some(card);
    }
    store(customer, *record);
}

/// Writes the record, unless another tab is further.
pub(super) fn store(customer: &mut Customer, record: Record) {
    let theirs = customer.record;
    let executed = theirs.phase == Phase::Executed && record.phase != Phase::Executed;
    let theirs_is_further = theirs.epoch > record.epoch || theirs.epoch == record.epoch && executed;
    if !theirs_is_further {
        customer.record = record;
    }
}

/// Raises the epoch behind `epoch`, unless another tab has done so.
pub(super) fn close(env: &mut Env, customer: &mut Customer, epoch: u64) {
    if customer.record.epoch <= epoch {
        customer.record = fresh(env, &customer.secret, epoch + 1);
    }
}
