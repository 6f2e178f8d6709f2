//! `cargo xtask test`: all tests of all tiers, part by part. Invariant: the last line counts every test that ran, and a
//! part that fails is named with the command that runs it alone.

mod cargo;
mod chain;
mod databases;
mod fuzz;
mod node;
mod packages;
mod tally;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;

use crate::project::Project;
use crate::setup::{Tools, chromium, engines, gate_tests};
use crate::ui::{say, seconds};
use tally::Tally;

/// A part of the tests, in the order in which they run: the quick and the fundamental first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Part {
    /// The code is formatted
    Fmt,
    /// Clippy finds nothing, on the host and for wasm
    Clippy,
    /// The documentation builds without a warning
    Doc,
    /// The tests of all crates on this machine
    Native,
    /// The origin's tests on PostgreSQL and MariaDB, started for them
    Databases,
    /// The fuzz targets build, and hold for their seeds and some thousand inputs made from them
    Fuzz,
    /// Keys and canonical JSON, against what others have written for the same standards
    Foreign,
    /// The core's tests as wasm, in Node
    Wasm,
    /// The core needs neither `std` nor anything from its host
    Pure,
    /// A purchase through the whole chain, as `cargo xtask up --check`
    Chain,
    /// The package's TypeScript types
    Types,
    /// The SDK's package, in Node and in Chromium
    Sdk,
    /// The SDK's package as it is published, in the bundlers and runtimes that it should work in
    Packages,
    /// The gate's objects and their storage, from inside workerd
    Workerd,
    /// Origin and gate over HTTP, from Node
    Gate,
    /// The page in Chromium
    Browser,
    /// Payments in Chromium, Firefox and WebKit
    Engines,
    /// The Worker can be deployed
    Deploy,
}

/// Runs the named parts, or all.
pub(crate) fn run(project: &Project, named: &[Part]) -> Result<ExitCode> {
    let started = Instant::now();
    let tools = Tools::install(project)?;
    let (mut total, mut times) = (Tally::default(), Vec::new());
    let parts = Part::value_variants()
        .iter()
        .filter(|part| named.is_empty() || named.contains(part));
    let mut failed = None;
    for &part in parts {
        let begun = Instant::now();
        println!("\n== {}: {}", part.name(), part.what());
        let result = part.run(project, &tools);
        times.push((part, begun.elapsed()));
        total += result
            .as_ref()
            .map_or_else(|_| Tally::failure(), |tally| *tally);
        if !matches!(result, Ok(tally) if tally.failed == 0) {
            failed = Some((part, result.err()));
            break;
        }
    }
    summarise(
        &times,
        failed.as_ref().map(|(part, _)| *part),
        started.elapsed(),
    );
    if let Some((part, error)) = &failed {
        error.iter().for_each(|error| say(&crate::describe(error)));
        println!(
            "{} failed; alone: cargo xtask test {}",
            part.name(),
            part.name()
        );
    }
    println!("{total}");
    Ok(if failed.is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

impl Part {
    /// The word that names it on the command line.
    fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    fn what(self) -> String {
        self.to_possible_value()
            .and_then(|value| value.get_help().map(ToString::to_string))
            .unwrap_or_default()
    }

    /// What it counted; a part without a test runner of its own counts as one test.
    fn run(self, project: &Project, tools: &Tools) -> Result<Tally> {
        match self {
            Self::Fmt => cargo::fmt(project),
            Self::Clippy => cargo::clippy(project),
            Self::Doc => cargo::doc(project),
            Self::Native => cargo::native(project),
            Self::Databases => databases::all(project),
            Self::Fuzz => fuzz::all(project),
            Self::Foreign => node::foreign(project, tools),
            Self::Wasm => cargo::wasm(project, tools),
            Self::Pure => cargo::pure(project, tools),
            Self::Chain => chain::purchase(project, tools),
            Self::Types => node::types(project, tools),
            Self::Sdk => node::tests(project, tools, "sdk/tests", &chromium(project)?),
            Self::Packages => packages::all(project, tools),
            Self::Workerd => node::workerd(project, tools),
            Self::Gate => node::tests(project, tools, "tests/gate", &gate_tests(project)?),
            Self::Browser => node::tests(project, tools, "tests/browser", &chromium(project)?),
            Self::Engines => node::tests(project, tools, "tests/engines", &engines(project)?),
            Self::Deploy => chain::deploy(project, tools),
        }
    }
}

fn summarise(times: &[(Part, Duration)], failed: Option<Part>, whole: Duration) {
    println!("\n== summary");
    for (part, time) in times {
        let mark = if Some(*part) == failed {
            "FAILED"
        } else {
            "ok"
        };
        println!("{mark:7}{:9} {:>12}", part.name(), seconds(*time));
    }
    println!("{:7}{:9} {:>12}\n", "", "in all", seconds(whole));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_says_what_it_tests() {
        for part in Part::value_variants() {
            assert!(!part.what().is_empty(), "{part:?}");
        }
    }
}
