//! Breadth-first search: takes every step from every state.
//!
//! Invariant: two states are the same only if they are equal, not if their hashes are. The first way
//! found to a state is a shortest one, so that a fault is told in as few steps as it needs.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::witness::{Oracle, Violation};

/// More is no small world: the check is meant to end.
const MOST_STATES: usize = 2_000_000;

/// A table whose hashes are cheap. Equality decides, so that a poor hash costs time only.
pub(super) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// One multiplication for every number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        // The table looks at the topmost bits and at the lowest ones.
        self.0 ^ self.0.rotate_left(32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut number = [0; 8];
            number[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(number));
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    fn write_u64(&mut self, number: u64) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(ODD);
    }
}

pub(crate) trait Model {
    type State: Clone + Eq + Hash;
    type Step: Copy + fmt::Debug;

    fn start(&self) -> Self::State;

    /// Every step from a state, with the state it leads to.
    fn steps(&self, from: &Self::State, to: &mut Vec<(Self::Step, Self::State)>);

    fn violation(&self, state: &Self::State) -> Option<Violation>;

    /// Whether faults have stopped for good.
    fn is_calm(&self, state: &Self::State) -> bool;

    /// Whether everything is settled.
    fn rests(&self, state: &Self::State) -> bool;
}

/// What a world came to.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Explored {
    /// How many states can be reached.
    pub states: usize,
    /// How many steps there are between them.
    pub steps: usize,
    /// What did not hold: for each sentence, a shortest way to a state that contradicts it.
    pub found: Vec<Found>,
}

/// A fault, and a shortest way to it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// What did not hold.
    pub violation: Violation,
    /// The steps, in their order.
    pub path: Vec<String>,
}

struct Search<'m, M: Model> {
    model: &'m M,
    numbers: Table<M::State, u32>,
    states: Vec<M::State>,
    /// How each state was first reached.
    parents: Vec<Option<(u32, M::Step)>>,
    /// Steps between calm states, as (to, from).
    calm: Vec<(u32, u32)>,
    steps: usize,
    found: Vec<Found>,
}

/// Visits every state of `model`, or as many as it takes to contradict the sentence that is `sought`.
/// A state that contradicts a sentence leads nowhere.
pub(crate) fn explore<M: Model>(model: &M, sought: Option<Oracle>) -> Explored {
    let mut search = Search {
        model,
        numbers: Table::default(),
        states: Vec::new(),
        parents: Vec::new(),
        calm: Vec::new(),
        steps: 0,
        found: Vec::new(),
    };
    search.visit(model.start(), None);
    let mut taken = Vec::new();
    let mut next = 0;
    while let Some(state) = search.states.get(next).cloned() {
        let number = u32::try_from(next).expect("bounded by MOST_STATES");
        next += 1;
        if let Some(violation) = model.violation(&state) {
            let is_found = Some(violation.oracle) == sought;
            search.note(number, violation);
            if is_found {
                break;
            }
            continue;
        }
        model.steps(&state, &mut taken);
        for (step, to) in taken.drain(..) {
            search.take(number, step, to);
        }
    }
    if next == search.states.len() {
        search.check_rest();
    }
    Explored {
        states: search.states.len(),
        steps: search.steps,
        found: search.found,
    }
}

impl<M: Model> Search<'_, M> {
    fn take(&mut self, from: u32, step: M::Step, to: M::State) {
        self.steps += 1;
        let is_calm = self.model.is_calm(&self.states[from as usize]);
        let to = self.visit(to, Some((from, step)));
        if is_calm && to != from {
            self.calm.push((to, from));
        }
    }

    fn visit(&mut self, state: M::State, parent: Option<(u32, M::Step)>) -> u32 {
        if let Some(number) = self.numbers.get(&state) {
            return *number;
        }
        assert!(self.states.len() < MOST_STATES, "this world is not small");
        let number = u32::try_from(self.states.len()).expect("bounded by MOST_STATES");
        self.numbers.insert(state.clone(), number);
        self.states.push(state);
        self.parents.push(parent);
        number
    }

    /// Every calm state leads to rest; a state that is not calm leads to a calm one at any time.
    fn check_rest(&mut self) {
        self.calm.sort_unstable();
        let mut leads = vec![false; self.states.len()];
        let mut open: Vec<u32> = (0..).take(self.states.len()).collect();
        open.retain(|number| self.rests(*number));
        open.iter()
            .for_each(|number| leads[*number as usize] = true);
        while let Some(to) = open.pop() {
            let first = self.calm.partition_point(|(end, _)| *end < to);
            for (_, from) in self.calm[first..].iter().take_while(|(end, _)| *end == to) {
                if !std::mem::replace(&mut leads[*from as usize], true) {
                    open.push(*from);
                }
            }
        }
        let stuck = (0..).zip(&self.states).find(|(number, state)| {
            let is_sound = self.model.violation(state).is_none();
            self.model.is_calm(state) && !leads[*number as usize] && is_sound
        });
        if let Some((number, _)) = stuck {
            let violation = Violation {
                oracle: Oracle::EverythingSettles,
                text: "faults have stopped, and nothing leads to rest".to_owned(),
            };
            self.note(number, violation);
        }
    }

    fn rests(&self, number: u32) -> bool {
        let state = &self.states[number as usize];
        self.model.is_calm(state) && self.model.rests(state)
    }

    /// The first state that contradicts a sentence is a nearest one.
    fn note(&mut self, mut number: u32, violation: Violation) {
        let is_known = |found: &Found| found.violation.oracle == violation.oracle;
        if self.found.iter().any(is_known) {
            return;
        }
        let mut path = Vec::new();
        while let Some((from, step)) = self.parents[number as usize] {
            path.push(format!("{step:?}"));
            number = from;
        }
        path.reverse();
        self.found.push(Found { violation, path });
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.path.iter().enumerate() {
            writeln!(f, "{:>3} {step}", number + 1)?;
        }
        write!(f, "{}", self.violation)
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
