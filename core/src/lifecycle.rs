//! Moves between states: declared once, judged before the database is asked, applied there by
//! compare-and-set.
//!
//! **Invariant: only a [`Move`] can be applied, and only a declared one that nothing undoes is a
//! `Move`.** The shell runs `UPDATE … SET status = target WHERE id = ? AND status = expected` and, if
//! that changed no row, reads the status again; that one statement is where the atomicity comes from.
//! What it came to is decided here.
//!
//! ```text
//! propose ─ not declared ─▶ Illegal, before the database          ┌ one row changed ─▶ Applied
//!         └ declared ─▶ Move ─ compare-and-set ───────────────────┤
//!                                                                 └ none: read ─ no row ───────────▶ Missing
//!                                                                              ├ target, or past it ▶ AlreadyThere
//!                                                                              └ anything else ─────▶ Illegal
//! ```
//!
//! # Out of scope
//!
//! Sums, and states that go back: whoever finds such a row in the target state cannot know whether it
//! was his own move that brought it there. Those need a row with the operation's id.

mod order;
mod settlement;

use core::fmt::{self, Debug};

pub use self::order::OrderStatus;
pub use self::settlement::SettlementStatus;

/// A status with its moves. Every status of the type is in `ALL`, every legal move in `MOVES`.
pub trait Status: Copy + Debug + Eq + 'static {
    /// All there are.
    const ALL: &'static [Self];
    /// From where to where. What is not written here is illegal.
    const MOVES: &'static [(Self, Self)];

    /// The number in the status column.
    fn code(self) -> i64;

    /// The word for it, as it is shown.
    fn as_str(self) -> &'static str;

    /// Reads the number that [`code`](Self::code) gives.
    fn from_code(code: i64) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|status| status.code() == code)
    }

    /// Whether nothing follows.
    fn is_final(self) -> bool {
        Self::MOVES.iter().all(|(from, _)| *from != self)
    }
}

/// A legal move. [`propose`] is the only constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move<S> {
    expected: S,
    target: S,
}

/// A move that may not be made, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data for an alarm and an answer"
)]
pub struct Illegal<S> {
    /// Where the move would have begun: what was expected, or what was found there.
    pub from: S,
    /// Where it would have led.
    pub target: S,
}

/// What a compare-and-set came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an outcome that a caller forgets must be a compile error"
)]
pub enum Outcome<S> {
    /// This caller made the move. Only now do the side effects run, in the same transaction.
    Applied,
    /// Somebody made it before: a success for whoever asks, without side effects.
    AlreadyThere,
    /// There is no such row.
    Missing,
    /// The row is where this move does not begin.
    Illegal(Illegal<S>),
}

/// The move from `expected` to `target`, if it may be made.
///
/// # Errors
///
/// It is not declared, or the declared moves lead back: then a compare-and-set proves nothing.
pub fn propose<S: Status>(expected: S, target: S) -> Result<Move<S>, Illegal<S>> {
    let declared = S::MOVES.contains(&(expected, target));
    if declared && !reaches(target, expected, None) {
        Ok(Move { expected, target })
    } else {
        let from = expected;
        Err(Illegal { from, target })
    }
}

impl<S: Status> Move<S> {
    /// What the row must say for the move to begin.
    pub fn expected(self) -> S {
        self.expected
    }

    /// What it says afterwards.
    pub fn target(self) -> S {
        self.target
    }

    /// What it means that no row was changed and that the row, read afterwards, says `found`.
    pub fn not_applied(self, found: Option<S>) -> Outcome<S> {
        match found {
            None => Outcome::Missing,
            Some(found) if found == self.target || self.is_past(found) => Outcome::AlreadyThere,
            Some(from) => Outcome::Illegal(Illegal {
                from,
                target: self.target,
            }),
        }
    }

    /// Whether every way from here to `found` leads through the target.
    fn is_past(self, found: S) -> bool {
        found != self.expected
            && reaches(self.target, found, None)
            && !reaches(self.expected, found, Some(self.target))
    }
}

/// Whether moves lead from one status to another, without touching `avoiding`. The walk visits no
/// status twice: it is as deep as there are statuses.
fn reaches<S: Status>(from: S, to: S, avoiding: Option<S>) -> bool {
    fn walk<S: Status>(from: S, to: S, avoiding: Option<S>, steps: usize) -> bool {
        let mut next = S::MOVES
            .iter()
            .filter(|(start, end)| *start == from && Some(*end) != avoiding);
        steps > 0 && next.any(|(_, end)| *end == to || walk(*end, to, avoiding, steps - 1))
    }
    walk(from, to, avoiding, S::ALL.len())
}

impl<S: Status> fmt::Display for Illegal<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, target) = (self.from.as_str(), self.target.as_str());
        write!(
            f,
            "no move leads from {from} to {target}: nothing was changed"
        )
    }
}

impl<S: Status> core::error::Error for Illegal<S> {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::OrderStatus::{Canceled, Finished, Paid, Shipped, WaitPay};
    use super::*;

    /// A lamp: what is on can be off again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Lamp {
        Off,
        On,
        Broken,
    }

    impl Status for Lamp {
        const ALL: &'static [Self] = &[Self::Off, Self::On, Self::Broken];
        const MOVES: &'static [(Self, Self)] = &[
            (Self::Off, Self::On),
            (Self::On, Self::Off),
            (Self::On, Self::Broken),
        ];

        fn code(self) -> i64 {
            self as i64
        }

        fn as_str(self) -> &'static str {
            "lamp"
        }
    }

    #[test]
    fn exactly_the_declared_moves_of_an_order_are_legal() {
        let declared = [
            (WaitPay, Paid),
            (WaitPay, Canceled),
            (Paid, Shipped),
            (Paid, Canceled),
            (Shipped, Finished),
        ];
        for &from in OrderStatus::ALL {
            for &target in OrderStatus::ALL {
                let proposed = propose(from, target);
                assert_eq!(proposed.is_ok(), declared.contains(&(from, target)));
            }
        }
    }

    #[test]
    fn codes_are_those_of_the_column_and_read_back() {
        let codes = [1, 2, 3, 4, 9];
        for (status, code) in OrderStatus::ALL.iter().zip(codes) {
            assert_eq!(status.code(), code);
            assert_eq!(OrderStatus::from_code(code), Some(*status));
        }
        assert_eq!(OrderStatus::from_code(5), None);
    }

    #[test]
    fn the_last_two_are_final() {
        let is_final = |status: &OrderStatus| status.is_final();
        assert!([Finished, Canceled].iter().all(is_final));
        assert!(![WaitPay, Paid, Shipped].iter().any(is_final));
    }

    #[test]
    fn a_move_that_was_made_before_is_a_success_and_not_applied() {
        let pay = propose(WaitPay, Paid).unwrap();
        for found in [Paid, Shipped, Finished] {
            assert_eq!(pay.not_applied(Some(found)), Outcome::AlreadyThere);
        }
        assert_eq!(pay.not_applied(None), Outcome::Missing);
    }

    /// It may have been canceled before it was paid: nobody can say that it was.
    #[test]
    fn a_state_with_another_way_to_it_proves_nothing() {
        let pay = propose(WaitPay, Paid).unwrap();
        let illegal = Illegal {
            from: Canceled,
            target: Paid,
        };
        assert_eq!(pay.not_applied(Some(Canceled)), Outcome::Illegal(illegal));
        let finish = propose(Shipped, Finished).unwrap();
        assert!(matches!(
            finish.not_applied(Some(Paid)),
            Outcome::Illegal(Illegal { from: Paid, .. })
        ));
    }

    /// A database that answers the second reading from an old snapshot must not look like a success.
    #[test]
    fn a_row_that_still_says_what_was_expected_is_not_there() {
        let pay = propose(WaitPay, Paid).unwrap();
        assert!(matches!(
            pay.not_applied(Some(WaitPay)),
            Outcome::Illegal(_)
        ));
    }

    #[test]
    fn a_move_that_can_be_undone_is_refused() {
        assert!(propose(Lamp::Off, Lamp::On).is_err());
        assert!(propose(Lamp::On, Lamp::Off).is_err());
        assert!(propose(Lamp::On, Lamp::Broken).is_ok());
    }

    #[test]
    fn an_illegal_move_says_what_it_was() {
        assert_eq!(
            propose(Finished, Paid).unwrap_err().to_string(),
            "no move leads from FINISHED to PAID: nothing was changed"
        );
    }
}
