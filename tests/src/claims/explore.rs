//! Every state that can be reached, breadth first, so that what is found is as short as can be.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use super::world::{Bug, Event, Oracle, World};

/// A sentence that does not hold, and what has led there.
#[derive(Debug)]
pub struct Violation {
    /// The sentence.
    pub oracle: Oracle,
    story: Vec<String>,
}

impl fmt::Display for Violation {
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

/// Visits every state of the world, with this bug in it.
///
/// # Errors
/// The first sentence that does not hold.
pub fn explore(bug: Option<Bug>) -> Result<Explored, Violation> {
    let first = World::new(bug);
    let mut seen = HashSet::from([first.text()]);
    let mut steps = vec![Step::default()];
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
            if let Err(oracle) = next.can_be_done() {
                return Err(violation(oracle, step, &steps));
            }
            steps.push(step);
            ahead.push_back((next, steps.len() - 1));
        }
    }
    Ok(Explored { states: seen.len() })
}

/// How a state was reached first.
#[derive(Default)]
struct Step {
    before: usize,
    event: Option<Event>,
}

fn violation(oracle: Oracle, last: Step, steps: &[Step]) -> Violation {
    let mut story = Vec::new();
    let mut step = &last;
    while let Some(event) = &step.event {
        story.push(format!("{event:?}"));
        step = &steps[step.before];
    }
    story.reverse();
    Violation { oracle, story }
}
