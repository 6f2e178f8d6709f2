//! Time, and whom it takes away.
//!
//! Invariant: the clock of a row goes on by itself; what cannot be under way for so long, is not.

use super::gate::GateStep;
use super::small::{KEY_TTL_MS, RESULT_TTL_MS, RETENTION_MS, SETTLE_MS, Step, Steps, World};
use super::state::{Copied, Courier, State};

pub(super) fn time(world: &World, from: &State, key: u8, to: &mut Steps) {
    let row = from.rows[usize::from(key)];
    if row.record == 0 {
        return;
    }
    let next = row.age + 1;
    if let Some(ms) = world.small.ages.get(usize::from(next)).copied()
        && may_pass(world, from, key, ms)
    {
        let mut state = from.clone();
        state.rows[usize::from(key)].age = next;
        state.old[usize::from(key)] |= ms >= KEY_TTL_MS;
        to.push((Step::Gate(GateStep::TimePasses { key, ms }), state));
    }
    if world.small.may.back && row.age > 0 && !from.calm {
        let mut state = from.clone();
        state.rows[usize::from(key)].age = 0;
        to.push((Step::Gate(GateStep::ClockStepsBack { key }), state));
    }
    if world.small.may.restore && !from.calm {
        let mut state = from.clone();
        state.ledger[usize::from(key)] = Default::default();
        to.push((Step::Gate(GateStep::LedgerForgets { key }), state));
    }
    let passed_ms = world.small.ages[usize::from(row.age)];
    if world.small.may.purge && passed_ms >= RETENTION_MS {
        let mut state = from.clone();
        state.ledger[usize::from(key)] = Default::default();
        to.push((Step::Gate(GateStep::LedgerForgets { key }), state));
    }
    if world
        .machine
        .view(row.record, row.age)
        .is_some_and(|viewed| viewed.is_expired)
    {
        let mut state = from.clone();
        state.rows[usize::from(key)].record = 0;
        state.rows[usize::from(key)].answer = None;
        to.push((Step::Gate(GateStep::RowIsDropped { key }), state));
    }
}

/// Who still can be heard after so long: no courier after the hard timeout, and after `settle_after`
/// no request at an origin that keeps to its longest time; nothing at all after a day.
fn may_pass(world: &World, state: &State, key: u8, ms: u64) -> bool {
    let listens = state
        .attempts()
        .any(|(_, attempt)| attempt.asker.key == key && attempt.courier != Courier::Gone);
    let asks = state.inquiry.is_some_and(|inquiry| inquiry.key == key);
    let ends_in_time = !world.small.is_ledger() || world.small.may.operator;
    let settled = !(listens || asks || ends_in_time && state.is_alive(key));
    let flies = key == 0 && state.copy == Copied::Flies;
    match ms {
        RESULT_TTL_MS.. => settled && state.is_quiet(key) && !flies,
        SETTLE_MS.. => settled,
        _ => true,
    }
}

pub(super) fn leave(from: &State, key: u8, to: &mut Steps) {
    if !from.calm && from.rows[usize::from(key)].waiter.is_some() {
        let mut state = from.clone();
        state.rows[usize::from(key)].waiter = None;
        to.push((Step::Gate(GateStep::WaiterLeaves { key }), state));
    }
}
