//! Answers that a gate has just been told by a shard, to be given again for a moment without asking it.
//!
//! Invariant: what is given is what the shard itself has answered to the same request of the same
//! principal, at most [`REPLAYS_FOR_MS`] ago. It is that answer, delivered late, and the contract
//! holds however late an answer is delivered. Whatever else is asked is the shard's to answer.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::rc::Rc;

use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::principal::Principal;

/// The longest time for which an answer may be given again without asking, in milliseconds.
pub const REPLAYS_FOR_MS: u64 = 2_000;

/// The largest body that is kept, in bytes.
pub const LARGEST_BYTES: usize = 64 * 1024;

/// How many answers are kept, and how many bytes of bodies. Of more, the oldest go.
const MOST_ANSWERS: usize = 256;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The request that is answered: nothing else is answered alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a question is all of it")]
pub struct Question {
    /// What is asked about.
    pub operation: Identity,
    /// What is asked for.
    pub fingerprint: Fingerprint,
    /// Who asks.
    pub principal: Option<Principal>,
}

/// Answers of a moment.
#[derive(Debug)]
pub struct Recent<A> {
    kept: BTreeMap<Identity, Kept<A>>,
    /// The operations, the oldest answer first.
    order: VecDeque<Identity>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept<A> {
    asked: Question,
    answer: Rc<A>,
    bytes: usize,
    until_ms: u64,
}

impl<A> Default for Recent<A> {
    fn default() -> Self {
        Self {
            kept: BTreeMap::new(),
            order: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<A> Recent<A> {
    /// The answer to exactly this, if it may still be given.
    pub fn answer(&mut self, now_ms: u64, asked: &Question) -> Option<Rc<A>> {
        let kept = self.kept.get(&asked.operation)?;
        if now_ms >= kept.until_ms {
            self.forget(&asked.operation);
            return None;
        }
        (kept.asked == *asked).then(|| Rc::clone(&kept.answer))
    }

    /// Keeps what a shard has answered. `asked_ms` is when it was asked, so that the time on the way is
    /// part of `for_ms`.
    pub fn keep(&mut self, asked_ms: u64, for_ms: u64, asked: Question, answer: A, bytes: usize) {
        self.forget(&asked.operation);
        if bytes > LARGEST_BYTES {
            return;
        }
        while self.kept.len() >= MOST_ANSWERS || self.bytes + bytes > MOST_BYTES {
            let Some(oldest) = self.order.front().copied() else {
                break;
            };
            self.forget(&oldest);
        }
        let kept = Kept {
            asked,
            answer: Rc::new(answer),
            bytes,
            until_ms: asked_ms.saturating_add(for_ms.min(REPLAYS_FOR_MS)),
        };
        self.bytes += bytes;
        self.order.push_back(asked.operation);
        self.kept.insert(asked.operation, kept);
    }

    /// Gives up what is kept of an operation.
    pub fn forget(&mut self, operation: &Identity) {
        if let Some(kept) = self.kept.remove(operation) {
            self.bytes -= kept.bytes;
            self.order.retain(|other| other != operation);
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const NOW_MS: u64 = 1_000_000;

    fn asked(number: u16) -> Question {
        let mut identity = [0; 32];
        identity[..2].copy_from_slice(&number.to_be_bytes());
        Question {
            operation: Identity::from_bytes(identity),
            fingerprint: Fingerprint::NONE,
            principal: None,
        }
    }

    fn with(for_ms: u64) -> Recent<&'static str> {
        let mut recent = Recent::default();
        recent.keep(NOW_MS, for_ms, asked(1), "paid", 4);
        recent
    }

    fn answers(recent: &mut Recent<&'static str>, now_ms: u64, asked: Question) -> bool {
        recent.answer(now_ms, &asked).is_some()
    }

    #[test]
    fn p4_an_answer_is_given_again_to_the_same_request_only() {
        let mut recent = with(REPLAYS_FOR_MS);
        assert!(answers(&mut recent, NOW_MS, asked(1)));
        assert!(!answers(&mut recent, NOW_MS, asked(2)));
        let other_request = Question {
            fingerprint: Fingerprint::parse(&"7".repeat(64)).unwrap(),
            ..asked(1)
        };
        assert!(!answers(&mut recent, NOW_MS, other_request));
        let other_principal = Question {
            principal: Some(Principal::of(b"secret", "shop", "bob")),
            ..asked(1)
        };
        assert!(!answers(&mut recent, NOW_MS, other_principal));
        // Who asks for something else takes nothing away.
        assert!(answers(&mut recent, NOW_MS, asked(1)));
    }

    #[test]
    fn i6_an_answer_is_kept_no_longer_than_its_record_allows() {
        let mut recent = with(300);
        assert!(answers(&mut recent, NOW_MS + 299, asked(1)));
        assert!(!answers(&mut recent, NOW_MS + 300, asked(1)));
        let mut recent = with(u64::MAX);
        let end_ms = NOW_MS + REPLAYS_FOR_MS;
        assert!(answers(&mut recent, end_ms - 1, asked(1)));
        assert!(!answers(&mut recent, end_ms, asked(1)));
        assert!(!answers(&mut with(0), NOW_MS, asked(1)));
    }

    #[test]
    fn what_is_forgotten_is_not_given_again() {
        let mut recent = with(REPLAYS_FOR_MS);
        recent.forget(&asked(1).operation);
        assert!(!answers(&mut recent, NOW_MS, asked(1)));
        assert_eq!((recent.bytes, recent.order.len()), (0, 0));
    }

    #[test]
    fn a_later_answer_takes_the_place_of_an_earlier_one() {
        let mut recent = with(REPLAYS_FOR_MS);
        recent.keep(NOW_MS + 5, REPLAYS_FOR_MS, asked(1), "shipped", 7);
        assert_eq!(*recent.answer(NOW_MS + 5, &asked(1)).unwrap(), "shipped");
        assert_eq!((recent.bytes, recent.order.len()), (7, 1));
    }

    #[test]
    fn the_oldest_make_room_and_too_large_ones_are_not_kept() {
        let mut recent = with(REPLAYS_FOR_MS);
        recent.keep(NOW_MS, REPLAYS_FOR_MS, asked(2), "", LARGEST_BYTES + 1);
        assert!(!answers(&mut recent, NOW_MS, asked(2)));
        for number in 3..3 + MOST_ANSWERS as u16 {
            recent.keep(NOW_MS, REPLAYS_FOR_MS, asked(number), "", 0);
        }
        assert!(!answers(&mut recent, NOW_MS, asked(1)));
        assert_eq!(recent.kept.len(), MOST_ANSWERS);
        let large = (MOST_BYTES / LARGEST_BYTES) as u16;
        for number in 1_000..=1_000 + large {
            recent.keep(NOW_MS, REPLAYS_FOR_MS, asked(number), "", LARGEST_BYTES);
        }
        assert_eq!(
            (recent.kept.len(), recent.bytes),
            (large.into(), MOST_BYTES)
        );
        assert!(!answers(&mut recent, NOW_MS, asked(1_000)));
        assert!(answers(&mut recent, NOW_MS, asked(1_000 + large)));
    }
}
