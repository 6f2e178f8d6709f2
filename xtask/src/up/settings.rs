//! Whether the gate can work with its settings. It tells nobody but its log what is wrong with them, so that is where this looks:
//! who starts it here is not left with a gate that answers 503.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::stack::Stack;

/// The log's lines come a little after the gate's answers.
const LOG_LAG: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

pub(super) fn check(stack: &Stack) -> Result<()> {
    if stack.answers() {
        return Ok(());
    }
    let (log, end) = (stack.state().join("gate.log"), Instant::now() + LOG_LAG);
    while Instant::now() < end {
        if let Some(fault) = fs::read_to_string(&log).ok().as_deref().and_then(fault) {
            bail!("the gate cannot work with its settings (wrangler.toml, .dev.vars): {fault}");
        }
        sleep(LOOK);
    }
    Err(stack.gate_failure("does not answer"))
}

/// What the log says of the settings.
fn fault(log: &str) -> Option<String> {
    let said = r#""event":"configuration""#;
    let line = log.lines().rfind(|line| line.contains(said))?;
    // wrangler puts its colours around it.
    let line = line.get(line.find('{')?..=line.rfind('}')?)?;
    let line: Value = serde_json::from_str(line).ok()?;
    line["detail"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_the_settings_is_found_in_the_log() {
        let line = "\u{1b}[31m✘ \u{1b}[1m{\"detail\":\"ROUTES: route 'a': wait_ms is longer\",\"event\":\"configuration\",\"level\":\"error\"}\u{1b}[0m";
        let log = format!("Ready on http://127.0.0.1:8787\n{line}\nGET /orders 503\n");
        let found = fault(&log);
        assert_eq!(
            found.as_deref(),
            Some("ROUTES: route 'a': wait_ms is longer")
        );
        assert_eq!(
            fault("Ready\n{\"event\":\"breaker\",\"detail\":\"x\"}\n"),
            None
        );
    }
}
