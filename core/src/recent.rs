//! What a gate has just answered, to be given again for a moment without asking a shard.
//!
//! Invariant: what is given is an answer to the same request of the same principal, at most
//! [`REPLAYS_FOR_MS`] old: what its shard would replay. It is that answer, delivered late, and the
//! contract holds however late an answer is delivered. Whatever else is asked is the shard's to answer.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;

use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::principal::Principal;

/// The longest time for which an answer may be given again without asking, in milliseconds.
pub const REPLAYS_FOR_MS: u64 = 2_000;

/// The largest body that is kept, in bytes.
pub const LARGEST_BYTES: usize = 64 * 1024;

/// How many bytes may lie here in all. Of more, the oldest go.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What an entry takes beside its answer, in bytes, roughly.
const ENTRY_BYTES: usize = 512;

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

/// Whether a request's `Cache-Control` wants the shard to be asked (RFC 9111, section 5.2.1).
#[must_use]
pub fn wants_shard(cache_control: &str) -> bool {
    let mut directives = cache_control.split(',').map(str::trim);
    directives.any(|directive| {
        directive.eq_ignore_ascii_case("no-cache") || directive.eq_ignore_ascii_case("no-store")
    })
}

/// Answers of a moment, and questions that were asked a moment ago.
#[derive(Debug)]
pub struct Recent<A> {
    entries: BTreeMap<Identity, Entry<A>>,
    /// The operations in the order in which they came here.
    order: BTreeMap<u64, Identity>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<A> {
    asked: Question,
    /// None of a question that was only asked.
    answer: Option<Rc<A>>,
    bytes: usize,
    until_ms: u64,
    place: u64,
}

impl<A> Default for Recent<A> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            next: 0,
            bytes: 0,
        }
    }
}

impl<A> Recent<A> {
    /// The answer to exactly this, if it may still be given.
    pub fn answer(&mut self, now_ms: u64, asked: &Question) -> Option<Rc<A>> {
        let entry = self.entries.get(&asked.operation)?;
        if now_ms >= entry.until_ms {
            self.forget(&asked.operation);
            return None;
        }
        entry.answer.clone().filter(|_| entry.asked == *asked)
    }

    /// Remembers that this is asked now, and says whether it was a moment ago: then it may well be once
    /// more, and a replay of it is worth being kept.
    pub fn is_asked_again(&mut self, now_ms: u64, asked: &Question) -> bool {
        match self.entries.get(&asked.operation) {
            Some(entry) if now_ms < entry.until_ms => entry.asked == *asked,
            _ => {
                self.enter(now_ms, REPLAYS_FOR_MS, *asked, None, 0);
                false
            }
        }
    }

    /// Keeps what a shard has answered, of so many bytes. `asked_ms` is when it was asked, so that the time
    /// on the way is part of `for_ms`.
    pub fn keep(&mut self, asked_ms: u64, for_ms: u64, asked: Question, answer: A, bytes: usize) {
        let for_ms = for_ms.min(REPLAYS_FOR_MS);
        self.enter(asked_ms, for_ms, asked, Some(Rc::new(answer)), bytes);
    }

    fn enter(
        &mut self,
        asked_ms: u64,
        for_ms: u64,
        asked: Question,
        answer: Option<Rc<A>>,
        bytes: usize,
    ) {
        self.forget(&asked.operation);
        let bytes = bytes + ENTRY_BYTES;
        self.make_room(asked_ms, bytes);
        let entry = Entry {
            asked,
            answer,
            bytes,
            until_ms: asked_ms.saturating_add(for_ms),
            place: self.next,
        };
        self.bytes += bytes;
        self.order.insert(self.next, asked.operation);
        self.next += 1;
        self.entries.insert(asked.operation, entry);
    }

    /// Drops the oldest entries: those that are over, and as many as have to go.
    fn make_room(&mut self, now_ms: u64, bytes: usize) {
        while let Some(oldest) = self.order.values().next().copied() {
            let is_over = self.entries.get(&oldest);
            let is_over = is_over.is_none_or(|entry| entry.until_ms <= now_ms);
            if !is_over && self.bytes + bytes <= MOST_BYTES {
                break;
            }
            self.forget(&oldest);
        }
    }

    /// Gives up what is kept of an operation.
    pub fn forget(&mut self, operation: &Identity) {
        if let Some(entry) = self.entries.remove(operation) {
            self.bytes -= entry.bytes;
            self.order.remove(&entry.place);
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
    fn what_is_asked_twice_within_a_moment_is_asked_again() {
        let mut recent = Recent::<()>::default();
        assert!(!recent.is_asked_again(NOW_MS, &asked(1)));
        assert!(!recent.is_asked_again(NOW_MS, &asked(2)));
        // That it was asked is no answer.
        assert!(recent.answer(NOW_MS, &asked(1)).is_none());
        let last_ms = NOW_MS + REPLAYS_FOR_MS - 1;
        assert!(recent.is_asked_again(last_ms, &asked(1)));
        assert!(!recent.is_asked_again(last_ms + 1, &asked(1)));
        assert!(recent.is_asked_again(last_ms + 2, &asked(1)));
        let other_request = Question {
            fingerprint: Fingerprint::parse(&"7".repeat(64)).unwrap(),
            ..asked(1)
        };
        assert!(!recent.is_asked_again(last_ms + 2, &other_request));
    }

    #[test]
    fn p5_who_wants_no_stored_answer_has_the_shard_asked() {
        for text in [
            "no-cache",
            "No-Store",
            "max-age=0, no-cache",
            " no-cache ,x",
        ] {
            assert!(wants_shard(text), "{text}");
        }
        for text in [
            "",
            "max-age=0",
            "x-no-cache",
            "no-cache-please",
            "no-transform",
        ] {
            assert!(!wants_shard(text), "{text}");
        }
    }

    #[test]
    fn a_later_answer_takes_the_place_of_an_earlier_one() {
        let mut recent = with(REPLAYS_FOR_MS);
        recent.keep(NOW_MS + 5, REPLAYS_FOR_MS, asked(1), "shipped", 7);
        assert_eq!(*recent.answer(NOW_MS + 5, &asked(1)).unwrap(), "shipped");
        assert_eq!((recent.bytes, recent.order.len()), (7 + ENTRY_BYTES, 1));
    }

    #[test]
    fn the_oldest_make_room() {
        let mut recent = with(REPLAYS_FOR_MS);
        let most = (MOST_BYTES / (LARGEST_BYTES + ENTRY_BYTES)) as u16;
        for number in 2..=most + 1 {
            recent.keep(NOW_MS, REPLAYS_FOR_MS, asked(number), "", LARGEST_BYTES);
        }
        assert!(answers(&mut recent, NOW_MS, asked(1)));
        recent.keep(NOW_MS, REPLAYS_FOR_MS, asked(0), "", LARGEST_BYTES);
        assert!(!answers(&mut recent, NOW_MS, asked(1)));
        assert!(!answers(&mut recent, NOW_MS, asked(2)));
        assert!(answers(&mut recent, NOW_MS, asked(3)));
        assert!(answers(&mut recent, NOW_MS, asked(0)));
        assert!(recent.bytes <= MOST_BYTES);
    }

    #[test]
    fn what_is_over_does_not_stay() {
        let mut recent = with(REPLAYS_FOR_MS);
        recent.keep(NOW_MS + 1, REPLAYS_FOR_MS, asked(2), "", 1_000);
        recent.keep(NOW_MS + REPLAYS_FOR_MS, REPLAYS_FOR_MS, asked(3), "", 0);
        assert_eq!(recent.entries.len(), 2);
        assert!(!recent.is_asked_again(NOW_MS + 2 * REPLAYS_FOR_MS, &asked(4)));
        assert_eq!((recent.bytes, recent.order.len()), (ENTRY_BYTES, 1));
    }
}
