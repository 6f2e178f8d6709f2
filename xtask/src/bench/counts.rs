//! What an operation uses of what the platform charges for. Invariant: it is counted in the running gate, not derived from
//! its source, and apart from what is timed.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Site;
use super::keys::{Keys, request};
use super::load;
use super::origin::Origin;
use super::rounds::wait_a_moment;
use crate::http;
use crate::project::Project;
use crate::setup::Tools;

/// The gate with counters around it.
const COUNTED: &str = include_str!("counted.js");
/// Where it tells them.
const COUNTS: &str = "/.oncegate/counts";

/// One shard that is open already: what opening it takes is no part of an operation.
const SHARD: u16 = 0;
const REQUESTS: usize = 50;
const TIMEOUT: Duration = Duration::from_secs(10);

/// What is charged, its unit, and US dollars for a million of it beyond what is included: Workers Paid as published in
/// November 2026. Calls between Workers by service binding are free, and CPU and object time depend on more than the gate.
const PRICES: [(&str, &str, f64); 4] = [
    ("client_requests", "requests", 0.30),
    ("object_calls", "object calls", 0.15),
    ("rows_written", "rows written", 1.00),
    ("rows_read", "rows read", 0.001),
];

/// Per request of one kind.
pub(super) struct Counts {
    name: &'static str,
    used: [f64; PRICES.len()],
}

/// Counts first executions, and replays a moment later and after that.
pub(super) fn count(
    project: &Project,
    tools: &Tools,
    site: &Site,
    origin: &Origin,
    keys: &mut Keys,
) -> Result<Vec<Counts>> {
    site.write_gate(project, origin, Some(COUNTED))?;
    let gate = site.start_gate(project, tools)?;
    let mut script = || {
        let mut one = || request(gate.address(), &keys.in_one_of(&[SHARD], gate.address()).1);
        vec![(0..REQUESTS).map(|_| one()).collect()]
    };
    load::run(gate.address(), &script(), 201)?;
    let requests = script();
    let of_kind = |name| {
        let before = read(gate.address())?;
        load::run(gate.address(), &requests, 201)?;
        Counts::between(name, &before, &read(gate.address())?)
    };
    let first = of_kind("first execution")?;
    let soon = of_kind("replay within 2 s")?;
    wait_a_moment();
    Ok(vec![first, soon, of_kind("replay")?])
}

fn read(address: &str) -> Result<Value> {
    let answer = http::get(&http::client(TIMEOUT), &format!("http://{address}{COUNTS}"))?;
    Ok(answer.json())
}

impl Counts {
    fn between(name: &'static str, before: &Value, after: &Value) -> Result<Self> {
        let mut used = [1.0; PRICES.len()];
        for (used, (field, ..)) in used.iter_mut().zip(PRICES).skip(1) {
            let of = |counts: &Value| counts[field].as_f64();
            let pair = of(after).zip(of(before));
            let (after, before) = pair.with_context(|| format!("the gate counts no {field}"))?;
            *used = (after - before) / REQUESTS as f64;
        }
        Ok(Self { name, used })
    }

    fn cost_per_million(&self) -> f64 {
        let prices = PRICES.iter().zip(self.used);
        prices.map(|((_, _, price), used)| price * used).sum()
    }

    pub(super) fn json(&self) -> Value {
        let used = PRICES.iter().zip(self.used);
        let used: serde_json::Map<String, Value> = used
            .map(|((field, _, _), used)| ((*field).to_owned(), json!(used)))
            .collect();
        json!({ "name": self.name, "per_operation": used, "usd_per_million": self.cost_per_million() })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:20}", self.name)?;
        for ((_, unit, _), used) in PRICES.iter().zip(self.used) {
            write!(f, "{used:6.2} {unit},")?;
        }
        write!(f, "  {:.2} USD for a million", self.cost_per_million())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_of_what_one_request_used() {
        let counted = |calls: u32, rows: u32| json!({ "object_calls": calls, "rows_written": rows, "rows_read": 0 });
        let counts = Counts::between("first", &counted(10, 10), &counted(110, 110)).unwrap();
        assert_eq!(counts.used, [1.0, 2.0, 2.0, 0.0]);
        assert!((counts.cost_per_million() - 2.6).abs() < 1e-9);
        let error = Counts::between("first", &json!({}), &counted(1, 1)).err();
        assert_eq!(
            error.unwrap().to_string(),
            "the gate counts no object_calls"
        );
    }
}
