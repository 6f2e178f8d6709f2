//! What is asked of worlds that are drawn from a seed: that a sentence holds in all of them, and that a bug that was
//! planted contradicts it in one.

use std::fmt;

/// A sentence that did not hold.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failed<O> {
    /// Which.
    pub oracle: O,
    /// In which run.
    pub seed: u64,
    /// What happened.
    pub text: String,
}

impl<O: fmt::Debug> fmt::Display for Failed<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {:?}: {}", self.seed, self.oracle, self.text)
    }
}

/// The sentence holds in every run.
///
/// # Panics
/// If it does not, with the first run that shows it.
#[track_caller]
pub fn holds<S, O: Copy + fmt::Debug + PartialEq>(runs: &[Result<S, Failed<O>>], oracle: O) {
    let failures = runs.iter().filter_map(|run| run.as_ref().err());
    if let Some(failure) = failures
        .into_iter()
        .find(|failure| failure.oracle == oracle)
    {
        panic!("{failure}");
    }
}

/// A run of one of so many seeds, in which the bug is planted, contradicts the sentence.
///
/// # Panics
/// If none does, with the sentences that were contradicted instead.
#[track_caller]
pub fn caught<B, S, O>(
    seeds: u64,
    run: impl Fn(u64, Option<B>) -> Result<S, Failed<O>>,
    bug: B,
    by: O,
) where
    B: Copy + fmt::Debug,
    O: Copy + fmt::Debug + PartialEq,
{
    let mut others = Vec::new();
    for seed in 0..seeds {
        match run(seed, Some(bug)) {
            Err(failure) if failure.oracle == by => return println!("{bug:?}: {failure}"),
            Err(failure) => others.push(failure.oracle),
            Ok(_) => {}
        }
    }
    others.dedup();
    panic!("{bug:?} was caught by {others:?} only");
}
