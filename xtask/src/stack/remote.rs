//! `cargo xtask stack`: a stack that a test in another language controls by lines on standard input, each answered by one
//! line of JSON on standard output. Invariant: it ends when its input ends, so that a test that dies leaves nothing behind.

use std::io::{Write, stdin, stdout};

use anyhow::Result;
use serde_json::{Value, json};

use super::{Plan, Stack};
use crate::project::Project;
use crate::setup::Tools;

/// Serves until the input ends.
pub(crate) fn serve(project: &Project, plan: &Plan) -> Result<()> {
    let tools = Tools::install(project)?;
    let mut stack = Stack::start(project, &tools, plan)?;
    answer(&description(&stack))?;
    for line in stdin().lines() {
        let result = obey(&mut stack, line?.trim());
        answer(&match result {
            Ok(()) => description(&stack),
            Err(error) => json!({ "error": format!("{error:#}") }),
        })?;
    }
    Ok(())
}

fn obey(stack: &mut Stack, command: &str) -> Result<()> {
    match command {
        "start-origin" => stack.start_origin()?,
        "stop-origin" => stack.stop_origin(),
        "kill-origin" => stack.kill_origin(),
        "start-gate" => stack.start_gate()?,
        "kill-gate" => stack.kill_gate(),
        _ => anyhow::bail!(
            "`{command}` is none of start-origin, stop-origin, kill-origin, start-gate, kill-gate"
        ),
    }
    Ok(())
}

fn description(stack: &Stack) -> Value {
    let (origin, gate) = stack.ids();
    json!({
        "gate": stack.gate_url(),
        "origin": stack.origin_url(),
        "database": stack.database(),
        "pids": { "origin": origin, "gate": gate },
    })
}

fn answer(value: &Value) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}
