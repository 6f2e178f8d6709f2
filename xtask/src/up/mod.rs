//! `cargo xtask up`: the whole chain on this machine. Invariant: it says that the chain works only after a purchase whose
//! answer was lost has gone through it exactly once.

mod database;
mod purchase;
mod settings;

use std::convert::Infallible;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::project::Project;
use crate::setup::Tools;
use crate::stack::{Plan, Stack};
use crate::ui::{Step, say, seconds};
use purchase::Purchase;

const LOOK: Duration = Duration::from_millis(300);
const LOOKS_PER_CALL: u32 = 15;
/// A reload of the gate may miss one call, or two.
const TOO_SILENT: u32 = 3;

/// Starts the chain and makes the purchase; then ends, or stays until a signal or a process that dies.
pub(crate) fn run(project: &Project, plan: &Plan, check: bool) -> Result<()> {
    let started = Instant::now();
    let tools = Tools::install(project)?;
    let mut stack = Stack::start(project, &tools, plan)?;
    settings::check(&stack)?;
    let step = Step::start("buying something whose answer gets lost");
    let purchase = Purchase::make(&stack, &step)?;
    step.done();
    let rows = database::count(&tools, &stack.database(), purchase.key())?;
    println!("{}", purchase.report(&rows, &stack.database()));
    purchase.judge(&rows)?;
    say(&format!("up after {}", seconds(started.elapsed())));
    if !check {
        println!(
            "\nThe shop is open: {}\n  origin {}, logs in {}, Ctrl-C ends it",
            stack.gate_url(),
            stack.origin_url(),
            stack.state().display()
        );
        watch(&mut stack)?;
    }
    Ok(())
}

/// Ends only by an error: a signal ends the whole program.
fn watch(stack: &mut Stack) -> Result<Infallible> {
    let mut silent = 0;
    loop {
        for _ in 0..LOOKS_PER_CALL {
            stack.check_alive()?;
            sleep(LOOK);
        }
        // wrangler lives on when its workerd has died.
        silent = if stack.answers() { 0 } else { silent + 1 };
        if silent == TOO_SILENT {
            return Err(stack.gate_failure("does not answer any more: start again"));
        }
    }
}
