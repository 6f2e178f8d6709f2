//! What was measured, as tables and as JSON. Invariant: a ratio is the median of the ratios of single rounds, in which both
//! sides met the same machine; it is not the ratio of two medians.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::counts::Counts;
use super::load::Lap;

/// One lap in figures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    /// Requests per second.
    throughput: f64,
    /// What the runtime's process used of a processor for each request.
    cpu_ms: f64,
    /// The share of the answers that are conflicts.
    conflicts: f64,
    /// How often the origin was called beyond what was asked for.
    excess: u64,
}

/// A kind of request, and what it is compared with: the row of this index.
pub(super) struct Row {
    name: String,
    like: usize,
    laps: Vec<Figures>,
}

/// What is measured in turns.
pub(super) struct Section {
    title: String,
    rows: Vec<Row>,
}

/// A whole run.
#[derive(Default)]
pub(super) struct Report {
    pub(super) sections: Vec<Section>,
    pub(super) counts: Vec<Counts>,
}

impl Figures {
    pub(super) fn new(lap: &Lap, cpu: Duration) -> Self {
        Self {
            p50_ms: lap.percentile_ms(0.5),
            p95_ms: lap.percentile_ms(0.95),
            p99_ms: lap.percentile_ms(0.99),
            throughput: lap.throughput(),
            cpu_ms: cpu.as_secs_f64() * 1_000.0 / lap.latencies.len() as f64,
            conflicts: lap.conflicts as f64 / lap.latencies.len() as f64,
            excess: 0,
        }
    }

    /// The same of a lap during which the origin was called so much more often than was asked for.
    pub(super) fn with_excess(self, excess: u64) -> Self {
        Self { excess, ..self }
    }
}

impl Row {
    pub(super) fn new(name: impl Into<String>, like: usize) -> Self {
        Self {
            name: name.into(),
            like,
            laps: Vec::new(),
        }
    }

    fn median(&self, figure: impl Fn(&Figures) -> f64) -> f64 {
        median(self.laps.iter().map(figure).collect())
    }

    fn excess(&self) -> u64 {
        self.laps.iter().map(|lap| lap.excess).max().unwrap_or(0)
    }

    /// What the figures do not say: that an answer was none, or that there was more than one.
    fn remark(&self) -> String {
        let conflicts = self.median(|lap| lap.conflicts) * 100.0;
        match (conflicts > 0.0, self.excess()) {
            (false, 0) => String::new(),
            (true, 0) => format!("  {conflicts:.0} % are 409"),
            (false, excess) => format!("  executed up to {excess} times too often"),
            (true, excess) => {
                format!("  {conflicts:.0} % are 409, executed up to {excess} times too often")
            }
        }
    }
}

impl Section {
    pub(super) fn new(title: impl Into<String>, rows: Vec<Row>) -> Self {
        Self {
            title: title.into(),
            rows,
        }
    }

    /// Takes in one round: a lap of each row.
    pub(super) fn take(&mut self, laps: Vec<Figures>) {
        for (row, lap) in self.rows.iter_mut().zip(laps) {
            row.laps.push(lap);
        }
    }

    fn ratio(&self, row: &Row, figure: impl Fn(&Figures) -> f64) -> f64 {
        let pairs = row.laps.iter().zip(&self.rows[row.like].laps);
        median(
            pairs
                .map(|(lap, like)| figure(lap) / figure(like))
                .collect(),
        )
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            json!({
                "name": row.name,
                "compared_with": self.rows[row.like].name,
                "p50_ms": row.median(|lap| lap.p50_ms),
                "p95_ms": row.median(|lap| lap.p95_ms),
                "p99_ms": row.median(|lap| lap.p99_ms),
                "throughput": row.median(|lap| lap.throughput),
                "cpu_ms": row.median(|lap| lap.cpu_ms),
                "p50_ratio": self.ratio(row, |lap| lap.p50_ms),
                "throughput_ratio": self.ratio(row, |lap| lap.throughput),
                "cpu_ratio": self.ratio(row, |lap| lap.cpu_ms),
                "conflicts": row.median(|lap| lap.conflicts),
                "executed_in_excess": row.excess(),
                "rounds": row.laps.len(),
            })
        });
        json!({ "title": self.title, "rows": rows.collect::<Vec<_>>() })
    }
}

impl Report {
    pub(super) fn json(&self) -> Value {
        json!({
            "sections": self.sections.iter().map(Section::json).collect::<Vec<_>>(),
            "counts": self.counts.iter().map(Counts::json).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.sections {
            writeln!(f, "{section}")?;
        }
        for counts in &self.counts {
            writeln!(f, "{counts}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = [
            "p50 ms", "p95 ms", "p99 ms", "req/s", "CPU ms", "p50 ×", "req/s ×", "CPU ×",
        ];
        write!(f, "{:36}", self.title)?;
        for head in heads {
            write!(f, "{head:>9}")?;
        }
        for row in &self.rows {
            write!(f, "\n{:36}", row.name)?;
            for ms in [
                row.median(|lap| lap.p50_ms),
                row.median(|lap| lap.p95_ms),
                row.median(|lap| lap.p99_ms),
            ] {
                write!(f, "{ms:9.1}")?;
            }
            write!(
                f,
                "{:9.0}{:9.3}",
                row.median(|lap| lap.throughput),
                row.median(|lap| lap.cpu_ms)
            )?;
            let ratios = [
                self.ratio(row, |lap| lap.p50_ms),
                self.ratio(row, |lap| lap.throughput),
                self.ratio(row, |lap| lap.cpu_ms),
            ];
            for ratio in ratios {
                write!(f, "{ratio:9.2}")?;
            }
            write!(f, "{}", row.remark())?;
        }
        writeln!(f)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(p50_ms: f64) -> Figures {
        Figures {
            p50_ms,
            p95_ms: 0.0,
            p99_ms: 0.0,
            throughput: 1.0,
            cpu_ms: 1.0,
            conflicts: 0.0,
            excess: 0,
        }
    }

    #[test]
    fn a_ratio_is_of_laps_that_met_the_same_machine() {
        let mut section = Section::new("x", vec![Row::new("base", 0), Row::new("other", 0)]);
        for (base, other) in [(1.0, 2.0), (10.0, 20.0), (2.0, 1.0)] {
            section.take(vec![figures(base), figures(other)]);
        }
        let row = &section.json()["rows"][1];
        assert_eq!(
            (row["p50_ms"].as_f64(), row["p50_ratio"].as_f64()),
            (Some(2.0), Some(2.0))
        );
        assert!(section.to_string().contains("other"));
    }

    #[test]
    fn conflicts_and_further_executions_are_told() {
        let told = |conflicts, excess| {
            let mut section = Section::new("x", vec![Row::new("a crowd", 0)]);
            let lap = figures(1.0);
            section.take(vec![Figures { conflicts, ..lap }.with_excess(excess)]);
            section.to_string()
        };
        assert!(told(0.0, 0).ends_with("1.00\n"), "{}", told(0.0, 0));
        assert!(told(0.8, 0).ends_with("1.00  80 % are 409\n"));
        assert!(told(0.0, 2).ends_with("1.00  executed up to 2 times too often\n"));
        assert!(told(0.8, 2).ends_with("80 % are 409, executed up to 2 times too often\n"));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![5.0]), 5.0);
    }
}
