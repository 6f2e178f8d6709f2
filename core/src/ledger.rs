//! What the origin does with a key it may know (rules L2 to L6).
//!
//! **Invariant: whichever attempt commits first decides.** Under one key there is at most one row
//! that is executed or cancelled, and at most one refusal per fingerprint. The origin reads the rows,
//! asks this module, and acts, all inside the transaction that holds the key's claim; that
//! transaction is where the atomicity comes from. This module only compares.
//!
//! | rows under the key | same fingerprint | another fingerprint |
//! | --- | --- | --- |
//! | none | free | free |
//! | cancelled | answer: cancelled | answer: cancelled |
//! | executed | answer: executed | other fingerprint: executed |
//! | refused, client key or token | answer: refused | other fingerprint: refused |
//! | refused, generated key | answer: refused | free (another card for the same order) |
//!
//! An executed or cancelled row comes before every refusal: it is the later word.

use alloc::string::String;

use sha2::{Digest, Sha256};

use crate::fingerprint::Fingerprint;
use crate::hex;
use crate::key::{Key, KeyKind};
use crate::outcome::Outcome;

/// What a row says became of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a state that a shell forgets must be a compile error"
)]
pub enum State {
    /// It was cancelled before it had an effect, and can have none.
    Cancelled,
    /// Its effect was committed together with this row.
    Executed,
    /// The origin said no to this fingerprint. There is no effect.
    Refused,
}

/// One row under a key; `A` is the stored answer in whatever form the shell keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "shells build it from their columns"
)]
pub struct Row<A> {
    /// What became of the operation.
    pub state: State,
    /// What was asked for. Without meaning in a cancelled row.
    pub fingerprint: Fingerprint,
    /// What was answered then.
    pub answer: A,
}

/// What an attempt may do about its key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a decision that a shell forgets must be a compile error"
)]
pub enum Decision<'r, A> {
    /// Answer with this row. Nothing else may be done.
    Answer(&'r Row<A>),
    /// No row stands in the way.
    Free,
    /// The key was used for something else. Nothing may be done.
    OtherFingerprint(Recorded),
}

/// What is recorded under a key for another request: the answer to a request that reuses the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one answer")]
pub struct Recorded {
    /// What became of it.
    pub state: State,
    /// What it asked for.
    pub fingerprint: Fingerprint,
}

impl State {
    /// Reads the word that [`as_str`](Self::as_str) writes.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "cancelled" => Self::Cancelled,
            "executed" => Self::Executed,
            "refused" => Self::Refused,
            _ => return None,
        })
    }

    /// The word for a column, the same as on the wire.
    pub fn as_str(self) -> &'static str {
        self.outcome().as_str()
    }

    /// What `Idempotency-Outcome` says of it.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Cancelled => Outcome::Cancelled,
            Self::Executed => Outcome::Executed,
            Self::Refused => Outcome::Refused,
        }
    }
}

/// What an attempt may do, given every row under its key. It is asked twice:
///
/// - before the effect (L2, L5): [`Decision::Free`] means *run it*;
/// - before a refusal is stored, after the effect was rolled back (L4): [`Decision::Free`] means
///   *insert the refusal*. Otherwise another attempt came in between, and its row is the answer.
pub fn decide<'r, A>(
    rows: &'r [Row<A>],
    fingerprint: &Fingerprint,
    kind: KeyKind,
) -> Decision<'r, A> {
    match strongest(rows, fingerprint) {
        None => Decision::Free,
        Some(row) if row.speaks_for(fingerprint) => Decision::Answer(row),
        Some(row) if row.state == State::Refused && kind == KeyKind::Generated => Decision::Free,
        Some(row) => Decision::OtherFingerprint(row.recorded()),
    }
}

/// What a probe or a cancel hears (L6), given every row under its key. `None`: nothing is settled. A
/// probe then proves nothing, because a late attempt may still come; a cancel inserts a cancelled row.
pub fn settled<'r, A>(rows: &'r [Row<A>], fingerprint: &Fingerprint) -> Option<&'r Row<A>> {
    strongest(rows, fingerprint)
        .filter(|row| row.state != State::Refused || row.speaks_for(fingerprint))
}

/// The name under which a provider outside the database is called for this operation (L7): always the
/// same for one key and fingerprint, and 64 hexadecimal digits whatever they are. Another card under
/// the same order number is another payment, so it has another name.
pub fn provider_key(key: &Key, fingerprint: &Fingerprint) -> String {
    let mut hash = Sha256::new();
    hash.update(b"oncegate-provider-v1");
    hash.update(fingerprint.as_bytes());
    hash.update(key.as_str());
    let digest: [u8; 32] = hash.finalize().into();
    hex::encode(&digest)
}

/// The row that counts: executed or cancelled, else the refusal of this fingerprint, else any.
fn strongest<'r, A>(rows: &'r [Row<A>], fingerprint: &Fingerprint) -> Option<&'r Row<A>> {
    rows.iter()
        .max_by_key(|row| (row.state != State::Refused, row.speaks_for(fingerprint)))
}

impl<A> Row<A> {
    /// What the row says of a request that is not this one.
    pub fn recorded(&self) -> Recorded {
        Recorded {
            state: self.state,
            fingerprint: self.fingerprint,
        }
    }

    /// Whether the row is the answer to a request with this fingerprint.
    pub fn speaks_for(&self, fingerprint: &Fingerprint) -> bool {
        self.state == State::Cancelled || self.fingerprint == *fingerprint
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::State::{Cancelled, Executed, Refused};
    use super::*;

    const KINDS: [KeyKind; 3] = [KeyKind::Client, KeyKind::Generated, KeyKind::Token];

    /// Fingerprints are told apart by their last digit.
    fn fingerprint(digit: char) -> Fingerprint {
        let mut text = String::from_utf8(alloc::vec![b'0'; 63]).unwrap();
        text.push(digit);
        Fingerprint::parse(&text).unwrap()
    }

    fn recorded(state: State, digit: char) -> Recorded {
        let fingerprint = fingerprint(digit);
        Recorded { state, fingerprint }
    }

    fn told(rows: &[Row<()>], digit: char) -> Option<State> {
        settled(rows, &fingerprint(digit)).map(|row| row.state)
    }

    fn row(state: State, digit: char) -> Row<()> {
        Row {
            state,
            fingerprint: fingerprint(digit),
            answer: (),
        }
    }

    #[test]
    fn l7_a_provider_is_called_under_one_name_for_one_key_and_fingerprint() {
        let name = |key: &str, digit| {
            let key = Key::from_value(key).unwrap();
            provider_key(&key, &fingerprint(digit))
        };
        assert_eq!(name("order-7", 'a'), name("order-7", 'a'));
        assert_ne!(name("order-7", 'a'), name("order-7", 'b'));
        assert_ne!(name("order-7", 'a'), name("order-8", 'a'));
        assert_eq!(name("k", 'a').len(), 64);
    }

    #[test]
    fn l2_an_unknown_key_is_free() {
        for kind in KINDS {
            assert_eq!(decide::<()>(&[], &fingerprint('a'), kind), Decision::Free);
        }
    }

    #[test]
    fn l5_a_duplicate_gets_the_row() {
        for state in [Cancelled, Executed, Refused] {
            for kind in KINDS {
                let rows = [row(state, 'a')];
                assert_eq!(
                    decide(&rows, &fingerprint('a'), kind),
                    Decision::Answer(&rows[0])
                );
            }
        }
    }

    #[test]
    fn l5_another_fingerprint_hears_the_recorded_state() {
        for kind in KINDS {
            assert_eq!(
                decide(&[row(Executed, 'a')], &fingerprint('b'), kind),
                Decision::OtherFingerprint(recorded(Executed, 'a'))
            );
        }
        for kind in [KeyKind::Client, KeyKind::Token] {
            assert_eq!(
                decide(&[row(Refused, 'a')], &fingerprint('b'), kind),
                Decision::OtherFingerprint(recorded(Refused, 'a'))
            );
        }
    }

    #[test]
    fn l5_a_generated_key_runs_again_after_a_refusal_of_another_fingerprint() {
        let rows = [row(Refused, 'a'), row(Refused, 'b')];
        assert_eq!(
            decide(&rows, &fingerprint('c'), KeyKind::Generated),
            Decision::Free
        );
    }

    #[test]
    fn l5_a_fingerprint_refused_once_is_never_run_again() {
        let rows = [row(Refused, 'a'), row(Refused, 'b'), row(Refused, 'c')];
        for (row, digit) in rows.iter().zip(['a', 'b', 'c']) {
            assert_eq!(
                decide(&rows, &fingerprint(digit), KeyKind::Generated),
                Decision::Answer(row)
            );
        }
    }

    #[test]
    fn l5_what_was_executed_later_outweighs_an_own_refusal() {
        let rows = [row(Refused, 'a'), row(Executed, 'b'), row(Refused, 'c')];
        assert_eq!(
            decide(&rows, &fingerprint('a'), KeyKind::Generated),
            Decision::OtherFingerprint(recorded(Executed, 'b'))
        );
        assert_eq!(told(&rows, 'a'), Some(Executed));
    }

    #[test]
    fn l6_every_attempt_that_finds_a_cancelled_row_hears_cancelled() {
        let rows = [row(Refused, 'a'), row(Cancelled, 'b')];
        for digit in ['a', 'b', 'c'] {
            for kind in KINDS {
                assert_eq!(
                    decide(&rows, &fingerprint(digit), kind),
                    Decision::Answer(&rows[1])
                );
            }
        }
    }

    #[test]
    fn l6_a_refusal_of_another_fingerprint_is_no_answer() {
        let rows = [row(Refused, 'a')];
        assert_eq!(told(&rows, 'a'), Some(Refused));
        assert_eq!(told(&rows, 'b'), None);
        assert_eq!(settled::<()>(&[], &fingerprint('a')), None);
        for state in [Cancelled, Executed] {
            assert_eq!(told(&[row(state, 'a')], 'b'), Some(state));
        }
    }

    /// Every set of rows that the invariant allows: the order in which a shell reads them, and the
    /// presence of further refusals, must never let a settled operation run.
    #[test]
    fn l3_no_set_of_rows_lets_a_settled_operation_run() {
        for settled_by in [None, Some(Cancelled), Some(Executed)] {
            for refused in ["", "a", "b", "ab", "ba"] {
                for first in [true, false] {
                    let mut rows: Vec<_> = refused.chars().map(|d| row(Refused, d)).collect();
                    if let Some(state) = settled_by {
                        rows.insert(if first { 0 } else { rows.len() }, row(state, 'c'));
                    }
                    check(&rows, settled_by, refused);
                }
            }
        }
    }

    fn check(rows: &[Row<()>], settled_by: Option<State>, refused: &str) {
        for kind in KINDS {
            for digit in ['a', 'b', 'c'] {
                let may_run = settled_by.is_none()
                    && !refused.contains(digit)
                    && (refused.is_empty() || kind == KeyKind::Generated);
                let decision = decide(rows, &fingerprint(digit), kind);
                assert_eq!(
                    decision == Decision::Free,
                    may_run,
                    "{rows:?} {kind:?} {digit}"
                );
            }
        }
    }
}
