//! What every store of a shard must do: one suite of cases, run on each store there is.
//!
//! Invariant: a case knows nothing of the store that it runs on but [`Machine`] and [`Shelf`]. Natively
//! it runs in memory and on rusqlite (`tests/stores.rs`), as wasm on a Durable Object's own SQLite
//! (`tests/workerd/contract.test.mjs`).

mod cases;
mod memory;
#[cfg(target_family = "wasm")]
pub mod object;
mod shelf;
pub mod usual;
pub mod vectors;

pub use self::memory::Memory;
pub use self::shelf::{Blob, Machine, Shelf};

/// Hands the name of every case to a macro.
#[macro_export]
macro_rules! for_each_case {
    ($callback:ident) => {
        $callback! {
            nothing_is_absent,
            a_claim_is_read_back,
            what_was_written_outlives_its_object,
            operations_do_not_see_each_other,
            a_completion_stores_its_answer,
            an_empty_body_stays_empty,
            a_large_answer_comes_back_whole,
            a_record_written_alone_keeps_its_answer,
            an_answer_that_the_record_does_not_speak_of_goes,
            what_is_erased_is_forgotten,
            a_new_answer_replaces_the_one_before,
            a_request_is_kept_until_its_operation_is_settled,
            i5_what_is_not_settled_is_kept_over_all_spans,
            i3_what_is_disputed_is_kept_over_all_spans,
            a_settled_operation_is_kept_until_its_time_and_no_longer,
            an_answer_is_kept_over_a_turn,
            what_is_written_after_a_turn_hides_what_was_written_before,
            a_request_is_kept_over_turns_and_writes,
            a_time_without_end_is_kept_without_end,
            t2_a_clock_that_steps_back_loses_nothing,
            the_list_gives_what_is_due_and_no_more,
            the_list_keeps_what_was_tried_and_told,
            what_has_changed_meanwhile_stays_on_the_list,
            the_list_outlives_turns_and_objects,
            what_is_open_is_found_by_looking_at_some_at_a_time,
        }
    };
}

macro_rules! by_name {
    ($($case:ident),* $(,)?) => {
        /// The names of all cases.
        pub const NAMES: &[&str] = &[$(stringify!($case)),*];

        /// Runs a case on an empty machine; it panics where the store breaks the contract.
        pub fn run<M: Machine>(name: &str, machine: &M) {
            match name {
                $(stringify!($case) => cases::$case(machine),)*
                _ => panic!("there is no case '{name}'"),
            }
        }
    };
}

for_each_case!(by_name);
