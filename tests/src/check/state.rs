//! A state of a small world, as plain numbers.
//!
//! Invariant: a state holds nothing that the future does not depend on. Attempts that are over and told
//! are forgotten, and the others stand in one order, so that equal futures are equal states.

use oncegate_core::outcome::Outcome;

use crate::witness::Oracle;

pub(super) const KEYS: usize = 2;
pub(super) const CARDS: usize = 2;
/// Attempts that can be under way at once.
const MOST_UNDER_WAY: usize = 4;

/// Who sends what under which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Asker {
    pub(super) key: u8,
    pub(super) card: u8,
    /// The principal.
    pub(super) who: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// Faults have stopped.
    pub(super) calm: bool,
    /// Attempts made so far, under all keys.
    pub(super) made: u8,
    attempts: [Option<Attempt>; MOST_UNDER_WAY],
    pub(super) rows: [Row; KEYS],
    pub(super) ledger: [Ledger; KEYS],
    /// Effects, per key and card.
    pub(super) effects: [[u8; CARDS]; KEYS],
    pub(super) copy: Copied,
    pub(super) clients: [Client; 2],
    pub(super) inquiry: Option<Inquiry>,
    pub(super) operator: Operator,
    pub(super) said: [Said; KEYS],
    /// Whether the lifetime of a key is over: the SDK sends it no more (T3).
    pub(super) old: [bool; KEYS],
    pub(super) broken: Option<Oracle>,
}

/// A row of the shard.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Row {
    /// The number of the record; 0 if there is none.
    pub(super) record: u32,
    /// How much time has passed since it was written: an index into the world's ages.
    pub(super) age: u8,
    /// What was sent last: card and principal.
    pub(super) request: (u8, u8),
    /// Whose answer is stored with it: card and principal.
    pub(super) answer: Option<(u8, u8)>,
    /// A client that waits for the open attempt.
    pub(super) waiter: Option<u8>,
}

/// The rows of the ledger under one key.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Ledger {
    pub(super) executed: Option<u8>,
    pub(super) cancelled: bool,
    pub(super) refused: [bool; CARDS],
}

/// One hand-over to the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Attempt {
    pub(super) asker: Asker,
    pub(super) number: u8,
    pub(super) place: Place,
    pub(super) courier: Courier,
    /// The client that its answer goes to.
    pub(super) owner: Option<u8>,
}

/// Where the request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place {
    /// On its way, for as long as it likes.
    Sent,
    /// In a transaction that holds the key.
    Running,
    /// The effect is rolled back; the refusal is not committed yet.
    Refusing,
    /// It can have no effect any more.
    Over,
}

/// What the courier knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Courier {
    Listens,
    /// It has a reply that the shard has not.
    Holds(Word),
    /// It has passed on the head of an answer and waits for its end.
    Streams(Word),
    /// It has told the shard and does not know that it has.
    Told(Word),
    Gone,
}

/// What came back from an attempt, or from a question about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Word {
    /// A status without the header.
    Bare(u16),
    Cancelled,
    Executed,
    InProgress,
    Lost,
    NotExecuted,
    /// Another card has the key, and this became of it.
    OtherExecuted(u8),
    OtherRefused(u8),
    Refused,
}

/// A copy of the first request that the network keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Copied {
    No,
    Flies,
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client {
    pub(super) asks: Asker,
    pub(super) sent: bool,
    /// He was told how it ended.
    pub(super) done: bool,
    /// Another payload has the key: the machine says to cancel it.
    pub(super) cancels: bool,
}

/// A question to the origin about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inquiry {
    pub(super) key: u8,
    /// Whose cancellation it is; nobody's, if the origin is only asked what became of the key.
    pub(super) canceller: Option<u8>,
    /// The newest attempt when it was asked.
    pub(super) attempt: u8,
    /// When it was asked, nothing that was sent could begin any more.
    pub(super) ripe: bool,
    /// The card that it is about.
    pub(super) card: Option<u8>,
    pub(super) word: Option<Word>,
}

/// What support is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operator {
    Away,
    /// He has seen the record of this key, which may have changed since, and what became of it.
    Looked {
        key: u8,
        changed: bool,
        happened: bool,
    },
}

/// What was said of a key and holds for ever.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Said {
    pub(super) failed: [bool; CARDS],
    pub(super) safe: bool,
}

impl State {
    pub(super) fn new(other: Asker) -> Self {
        let client = |asks| Client {
            asks,
            sent: false,
            done: false,
            cancels: false,
        };
        let first = Asker {
            key: 0,
            card: 0,
            who: 0,
        };
        Self {
            calm: false,
            made: 0,
            attempts: [None; MOST_UNDER_WAY],
            rows: [Row::default(); KEYS],
            ledger: [Ledger::default(); KEYS],
            effects: [[0; CARDS]; KEYS],
            copy: Copied::No,
            clients: [client(first), client(other)],
            inquiry: None,
            operator: Operator::Away,
            said: [Said::default(); KEYS],
            old: [false; KEYS],
            broken: None,
        }
    }

    pub(super) fn attempts(&self) -> impl Iterator<Item = (usize, Attempt)> {
        let filled = |(index, slot): (usize, &Option<Attempt>)| slot.map(|slot| (index, slot));
        self.attempts.iter().enumerate().filter_map(filled)
    }

    pub(super) fn has_room(&self) -> bool {
        self.attempts.iter().any(Option::is_none)
    }

    /// Whether an attempt of `key` may still have an effect.
    pub(super) fn is_alive(&self, key: u8) -> bool {
        self.attempts()
            .any(|(_, attempt)| attempt.asker.key == key && attempt.place != Place::Over)
    }

    /// Whether nothing of `key` is under way, neither at the origin nor back from it.
    pub(super) fn is_quiet(&self, key: u8) -> bool {
        self.attempts().all(|(_, attempt)| attempt.asker.key != key)
    }

    pub(super) fn add(&mut self, attempt: Attempt) {
        if let Some(slot) = self.attempts.iter_mut().find(|slot| slot.is_none()) {
            *slot = Some(attempt);
        }
        self.tidy();
    }

    /// Changes an attempt; one that is over and told is forgotten.
    pub(super) fn change(&mut self, index: usize, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = &mut self.attempts[index] {
            change(attempt);
            if attempt.place == Place::Over && attempt.courier == Courier::Gone {
                self.attempts[index] = None;
            }
        }
        self.tidy();
    }

    fn tidy(&mut self) {
        self.attempts.sort_unstable();
    }

    /// Faults stop: what is safe is safe in the storm, too, so that from here on only rest is asked for.
    pub(super) fn calm(mut self) -> Self {
        self.calm = true;
        self.copy = Copied::Over;
        self.said = [Said::default(); KEYS];
        self.rows.iter_mut().for_each(|row| row.waiter = None);
        self
    }

    pub(super) fn fail(&mut self, oracle: Oracle) {
        self.broken = self.broken.or(Some(oracle));
    }

    pub(super) fn effects_of(&self, key: u8) -> u8 {
        self.effects[usize::from(key)].iter().sum()
    }
}

impl Word {
    /// The header, if it has one.
    pub(super) fn outcome(self) -> Option<Outcome> {
        Some(match self {
            Self::Bare(_) | Self::Lost => return None,
            Self::Cancelled => Outcome::Cancelled,
            Self::Executed | Self::OtherExecuted(_) => Outcome::Executed,
            Self::InProgress => Outcome::InProgress,
            Self::NotExecuted => Outcome::NotExecuted,
            Self::OtherRefused(_) | Self::Refused => Outcome::Refused,
        })
    }

    /// The status.
    pub(super) fn http(self) -> u16 {
        match self {
            Self::Bare(status) => status,
            Self::Cancelled => 410,
            Self::Executed => 201,
            Self::InProgress => 409,
            Self::Lost => 502,
            Self::NotExecuted => 503,
            Self::OtherExecuted(_) | Self::OtherRefused(_) => 422,
            Self::Refused => 402,
        }
    }

    /// The card that the reply is about, if it is not the one that was sent.
    pub(super) fn recorded(self) -> Option<u8> {
        match self {
            Self::OtherExecuted(card) | Self::OtherRefused(card) => Some(card),
            _ => None,
        }
    }
}
