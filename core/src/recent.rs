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

/// The largest answer that is kept, in bytes.
pub const LARGEST_BYTES: usize = 64 * 1024;

/// How many bytes may lie here in all, roughly. Of more, the oldest go.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What an entry takes beside its answer, in bytes, roughly.
const ENTRY_BYTES: usize = 1024;

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

/// Whether a request's `Cache-Control` wants the shard to be asked (RFC 9111, section 5.2.1.4).
#[must_use]
pub fn bypasses(cache_control: &str) -> bool {
    let mut directives = cache_control.split(',').map(str::trim);
    directives.any(|directive| directive.eq_ignore_ascii_case("no-cache"))
}

/// When what was asked for may be given.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    from_ms: u64,
    until_ms: u64,
}

impl Life {
    /// From when it was asked for, so that the time on the way is part of it, for at most [`REPLAYS_FOR_MS`].
    #[must_use]
    pub fn new(asked_ms: u64, for_ms: u64) -> Self {
        Self {
            from_ms: asked_ms,
            until_ms: asked_ms.saturating_add(for_ms.min(REPLAYS_FOR_MS)),
        }
    }

    /// A clock that was set back does not lengthen it.
    #[must_use]
    pub fn holds(self, now_ms: u64) -> bool {
        (self.from_ms..self.until_ms).contains(&now_ms)
    }
}

/// Answers of a moment, and questions that were asked a moment ago.
#[derive(Debug)]
pub struct Recent<A> {
    entries: BTreeMap<Identity, Entry<A>>,
    /// The operations in the order in which they came here.
    order: BTreeMap<u64, Identity>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<A> {
    asked: Question,
    /// None of a question that was only asked.
    answer: Option<Rc<A>>,
    bytes: usize,
    life: Life,
    place: u64,
}

impl<A> Default for Recent<A> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            bytes: 0,
        }
    }
}

impl<A> Recent<A> {
    /// The answer to exactly this, if it may still be given.
    #[must_use]
    pub fn answer(&self, now_ms: u64, asked: &Question) -> Option<Rc<A>> {
        let entry = self.entries.get(&asked.operation)?;
        let is_its = entry.life.holds(now_ms) && entry.asked == *asked;
        entry.answer.clone().filter(|_| is_its)
    }

    /// Notes that this is asked now; says whether it was a moment ago. Then it may well be once more, and a
    /// replay of it is worth being kept.
    pub fn note(&mut self, now_ms: u64, asked: &Question) -> bool {
        match self.entries.get(&asked.operation) {
            Some(entry) if entry.life.holds(now_ms) => entry.asked == *asked,
            _ => {
                let life = Life::new(now_ms, REPLAYS_FOR_MS);
                self.enter(now_ms, life, asked, None, 0);
                false
            }
        }
    }

    /// Keeps an answer of so many bytes, unless it is too large or its life is over.
    pub fn keep(&mut self, now_ms: u64, life: Life, asked: &Question, answer: A, bytes: usize) {
        if bytes <= LARGEST_BYTES && life.holds(now_ms) {
            self.enter(now_ms, life, asked, Some(Rc::new(answer)), bytes);
        }
    }

    /// Gives up the answer to exactly this: its shard has another one.
    pub fn withdraw(&mut self, asked: &Question) {
        let entry = self.entries.get(&asked.operation);
        if entry.is_some_and(|entry| entry.asked == *asked && entry.answer.is_some()) {
            self.forget(&asked.operation);
        }
    }

    /// Gives up what is kept of an operation.
    pub fn forget(&mut self, operation: &Identity) {
        if let Some(entry) = self.entries.remove(operation) {
            self.bytes -= entry.bytes;
            self.order.remove(&entry.place);
        }
    }

    fn enter(
        &mut self,
        now_ms: u64,
        life: Life,
        asked: &Question,
        answer: Option<Rc<A>>,
        bytes: usize,
    ) {
        self.forget(&asked.operation);
        let bytes = bytes + ENTRY_BYTES;
        self.make_room(now_ms, bytes);
        let last = self.order.last_key_value();
        let entry = Entry {
            asked: *asked,
            answer,
            bytes,
            life,
            place: last.map_or(0, |(place, _)| place + 1),
        };
        self.bytes += bytes;
        self.order.insert(entry.place, asked.operation);
        self.entries.insert(asked.operation, entry);
    }

    /// Drops the oldest entries: those that are over, and as many as have to go.
    fn make_room(&mut self, now_ms: u64, bytes: usize) {
        while let Some((_, oldest)) = self.order.first_key_value() {
            let oldest = *oldest;
            let entry = self.entries.get(&oldest);
            let is_live = entry.is_some_and(|entry| entry.life.holds(now_ms));
            if is_live && self.bytes + bytes <= MOST_BYTES {
                break;
            }
            self.forget(&oldest);
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

    fn other_request() -> Question {
        Question {
            fingerprint: Fingerprint::parse(&"7".repeat(64)).unwrap(),
            ..asked(1)
        }
    }

    fn keep(recent: &mut Recent<&'static str>, number: u16, answer: &'static str, bytes: usize) {
        let life = Life::new(NOW_MS, REPLAYS_FOR_MS);
        recent.keep(NOW_MS, life, &asked(number), answer, bytes);
    }

    fn with(for_ms: u64) -> Recent<&'static str> {
        let mut recent = Recent::default();
        recent.keep(NOW_MS, Life::new(NOW_MS, for_ms), &asked(1), "paid", 4);
        recent
    }

    fn answers(recent: &Recent<&'static str>, now_ms: u64, asked: Question) -> bool {
        recent.answer(now_ms, &asked).is_some()
    }

    #[test]
    fn p4_an_answer_is_given_again_to_the_same_request_only() {
        let recent = with(REPLAYS_FOR_MS);
        assert!(answers(&recent, NOW_MS, asked(1)));
        assert!(!answers(&recent, NOW_MS, asked(2)));
        assert!(!answers(&recent, NOW_MS, other_request()));
        let other_principal = Question {
            principal: Some(Principal::of(b"secret", "shop", "bob")),
            ..asked(1)
        };
        assert!(!answers(&recent, NOW_MS, other_principal));
    }

    #[test]
    fn i6_an_answer_is_kept_no_longer_than_its_record_allows() {
        let recent = with(300);
        assert!(answers(&recent, NOW_MS + 299, asked(1)));
        assert!(!answers(&recent, NOW_MS + 300, asked(1)));
        let recent = with(u64::MAX);
        let end_ms = NOW_MS + REPLAYS_FOR_MS;
        assert!(answers(&recent, end_ms - 1, asked(1)));
        assert!(!answers(&recent, end_ms, asked(1)));
        assert!(!answers(&with(0), NOW_MS, asked(1)));
    }

    #[test]
    fn i6_a_clock_that_is_set_back_gives_nothing_again() {
        let recent = with(REPLAYS_FOR_MS);
        assert!(!answers(&recent, NOW_MS - 1, asked(1)));
    }

    #[test]
    fn an_answer_that_comes_too_late_leaves_the_others_in_place() {
        let mut recent = with(REPLAYS_FOR_MS);
        let late_ms = NOW_MS + REPLAYS_FOR_MS - 1;
        let bytes = recent.bytes;
        let life = Life::new(late_ms - 300, 300);
        recent.keep(late_ms, life, &asked(1), "late", 7);
        recent.keep(late_ms, life, &asked(2), "late", 7);
        assert_eq!(*recent.answer(late_ms, &asked(1)).unwrap(), "paid");
        assert_eq!((recent.bytes, recent.order.len()), (bytes, 1));
    }

    #[test]
    fn what_is_forgotten_is_not_given_again() {
        let mut recent = with(REPLAYS_FOR_MS);
        recent.forget(&asked(1).operation);
        assert!(!answers(&recent, NOW_MS, asked(1)));
        assert_eq!((recent.bytes, recent.order.len()), (0, 0));
    }

    #[test]
    fn what_its_shard_does_not_say_any_more_is_not_given_again() {
        let mut recent = with(REPLAYS_FOR_MS);
        recent.withdraw(&other_request());
        assert!(answers(&recent, NOW_MS, asked(1)));
        recent.withdraw(&asked(1));
        assert!(!answers(&recent, NOW_MS, asked(1)));
        // That it was asked stays true.
        assert!(!recent.note(NOW_MS, &asked(2)));
        recent.withdraw(&asked(2));
        assert!(recent.note(NOW_MS, &asked(2)));
    }

    #[test]
    fn what_is_asked_twice_within_a_moment_is_known_to_be() {
        let mut recent = Recent::<()>::default();
        assert!(!recent.note(NOW_MS, &asked(1)));
        assert!(!recent.note(NOW_MS, &asked(2)));
        // That it was asked is no answer.
        assert!(recent.answer(NOW_MS, &asked(1)).is_none());
        let last_ms = NOW_MS + REPLAYS_FOR_MS - 1;
        assert!(recent.note(last_ms, &asked(1)));
        assert!(!recent.note(last_ms, &other_request()));
        assert!(!recent.note(last_ms + 1, &asked(1)));
        assert!(recent.note(last_ms + 2, &asked(1)));
    }

    #[test]
    fn p5_who_wants_no_stored_answer_has_the_shard_asked() {
        for text in [
            "no-cache",
            "No-Cache",
            "max-age=0, no-cache",
            " no-cache ,x",
        ] {
            assert!(bypasses(text), "{text}");
        }
        for text in ["", "max-age=0", "x-no-cache", "no-cache-please", "no-store"] {
            assert!(!bypasses(text), "{text}");
        }
    }

    #[test]
    fn a_later_answer_takes_the_place_of_an_earlier_one() {
        let mut recent = with(REPLAYS_FOR_MS);
        keep(&mut recent, 1, "shipped", 7);
        assert_eq!(*recent.answer(NOW_MS, &asked(1)).unwrap(), "shipped");
        assert_eq!((recent.bytes, recent.order.len()), (7 + ENTRY_BYTES, 1));
    }

    #[test]
    fn the_oldest_make_room_and_too_large_ones_are_not_kept() {
        let mut recent = with(REPLAYS_FOR_MS);
        keep(&mut recent, 2, "", LARGEST_BYTES + 1);
        assert!(!answers(&recent, NOW_MS, asked(2)));
        let most = (MOST_BYTES / (LARGEST_BYTES + ENTRY_BYTES)) as u16;
        for number in 2..=most {
            keep(&mut recent, number, "", LARGEST_BYTES);
        }
        assert!(answers(&recent, NOW_MS, asked(1)));
        for number in most + 1..=most + 2 {
            keep(&mut recent, number, "", LARGEST_BYTES);
        }
        assert!(!answers(&recent, NOW_MS, asked(1)));
        assert!(!answers(&recent, NOW_MS, asked(2)));
        assert!(answers(&recent, NOW_MS, asked(3)));
        assert!(answers(&recent, NOW_MS, asked(most + 2)));
        assert!(recent.bytes <= MOST_BYTES);
    }

    #[test]
    fn what_is_over_does_not_stay() {
        let mut recent = with(REPLAYS_FOR_MS);
        keep(&mut recent, 2, "", 1_000);
        assert!(!recent.note(NOW_MS + REPLAYS_FOR_MS, &asked(3)));
        assert_eq!((recent.bytes, recent.order.len()), (ENTRY_BYTES, 1));
    }
}
