//! Every state of a small world that can be reached, breadth first, so that what is found is as short as can
//! be.

use std::collections::{HashSet, VecDeque};
use std::fmt;

/// A small world.
pub(crate) trait Small: Sized {
    /// What can happen in it.
    type Event: fmt::Debug;
    /// What must hold in it.
    type Oracle: fmt::Debug;

    /// Tells states apart.
    fn text(&self) -> String;
    /// What can happen next.
    fn events(&self) -> Vec<Self::Event>;
    /// The world when it has.
    fn after(&self, event: &Self::Event) -> Result<Self, Self::Oracle>;
    /// What must hold in this state.
    fn check(&self) -> Result<(), Self::Oracle>;
}

/// A sentence that does not hold, and what has led there.
#[derive(Debug)]
pub struct Violation<O> {
    /// The sentence.
    pub oracle: O,
    story: Vec<String>,
}

impl<O: fmt::Debug> fmt::Display for Violation<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} does not hold after", self.oracle)?;
        self.story
            .iter()
            .try_for_each(|event| writeln!(f, "  {event}"))
    }
}

/// How much was visited.
#[derive(Debug)]
pub struct Explored {
    /// States, each once.
    pub states: usize,
}

/// Visits every state of the world that begins so.
pub(crate) fn explore<W: Small>(first: W) -> Result<Explored, Violation<W::Oracle>> {
    let mut seen = HashSet::from([first.text()]);
    let mut steps = vec![Step {
        before: 0,
        event: None,
    }];
    let mut ahead = VecDeque::from([(first, 0)]);
    while let Some((world, before)) = ahead.pop_front() {
        for event in world.events() {
            let next = world.after(&event);
            let step = Step {
                before,
                event: Some(event),
            };
            let next = match next {
                Ok(next) => next,
                Err(oracle) => return Err(violation(oracle, step, &steps)),
            };
            if !seen.insert(next.text()) {
                continue;
            }
            if let Err(oracle) = next.check() {
                return Err(violation(oracle, step, &steps));
            }
            steps.push(step);
            ahead.push_back((next, steps.len() - 1));
        }
    }
    Ok(Explored { states: seen.len() })
}

/// How a state was reached first.
struct Step<E> {
    before: usize,
    event: Option<E>,
}

fn violation<E: fmt::Debug, O>(oracle: O, last: Step<E>, steps: &[Step<E>]) -> Violation<O> {
    let mut story = Vec::new();
    let mut step = &last;
    while let Some(event) = &step.event {
        story.push(format!("{event:?}"));
        step = &steps[step.before];
    }
    story.reverse();
    Violation { oracle, story }
}
