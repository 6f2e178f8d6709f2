//! Counting tests from what the runners print.

use std::fmt;
use std::ops::AddAssign;

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Those that passed.
    pub(super) passed: u64,
    /// Those that failed.
    pub(super) failed: u64,
}

impl Tally {
    /// A part that is one test by itself, passed.
    pub(super) fn success() -> Self {
        Self {
            passed: 1,
            failed: 0,
        }
    }

    /// A part that failed without counting.
    pub(super) fn failure() -> Self {
        Self {
            passed: 0,
            failed: 1,
        }
    }

    /// Adds what a line of `cargo test`, the wasm test runner, `node --test` or vitest counts; other lines count nothing.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(result) = line.trim().strip_prefix("test result: ") {
            self.passed += number_before(result, " passed");
            self.failed += number_before(result, " failed");
        }
        // Node's summary: `ℹ pass 12` from the spec reporter.
        if let Some(summary) = line.trim().strip_prefix("ℹ ") {
            self.passed += number_after(summary, "pass ");
            self.failed += number_after(summary, "fail ");
        }
        // Vitest's summary: `Tests  1 failed | 12 passed (13)`.
        if let Some(summary) = line.trim().strip_prefix("Tests  ") {
            self.passed += number_before(summary, " passed");
            self.failed += number_before(summary, " failed");
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap_or_default();
    before
        .rsplit(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

fn number_after(text: &str, word: &str) -> u64 {
    text.strip_prefix(word)
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(output: &str) -> Tally {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.read(line));
        tally
    }

    #[test]
    fn results_of_several_test_programs_add_up() {
        let output = "running 2 tests\ntest a ... ok\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n\
                      test result: FAILED. 3 passed; 2 failed; 0 ignored\n";
        assert_eq!(
            tally(output),
            Tally {
                passed: 15,
                failed: 2
            }
        );
    }

    #[test]
    fn nodes_summary_is_read_and_its_other_numbers_are_not() {
        let output = "✔ passes 3 things (1ms)\nℹ tests 7\nℹ suites 2\nℹ pass 6\nℹ fail 1\nℹ skipped 0\nℹ duration_ms 88\n";
        assert_eq!(
            tally(output),
            Tally {
                passed: 6,
                failed: 1
            }
        );
    }

    #[test]
    fn vitests_summary_is_read_and_its_files_are_not() {
        let output =
            " Test Files  1 failed | 2 passed (3)\n      Tests  3 failed | 21 passed (24)\n";
        assert_eq!(
            tally(output),
            Tally {
                passed: 21,
                failed: 3
            }
        );
        assert_eq!(tally("      Tests  4 passed (4)\n").passed, 4);
        assert_eq!(tally("      Tests  no tests\n"), Tally::default());
    }

    #[test]
    fn the_closing_line_is_plain() {
        assert_eq!(
            Tally {
                passed: 6,
                failed: 1
            }
            .to_string(),
            "6 passed, 1 failed"
        );
    }
}
