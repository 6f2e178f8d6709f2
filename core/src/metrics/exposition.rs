//! The text format of Prometheus, version 0.0.4.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt::{Display, Write};

/// A page of metrics. A family is begun, then its samples follow.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    text: String,
    name: String,
}

impl Exposition {
    /// Begins a family of counters; its name gets `_total`.
    pub fn counter(&mut self, name: &str, help: &str) {
        self.family(&[name, "_total"].concat(), "counter", help);
    }

    /// Begins a family of gauges.
    pub fn gauge(&mut self, name: &str, help: &str) {
        self.family(name, "gauge", help);
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str) {
        self.family(name, "histogram", help);
    }

    /// Writes a sample of the family.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.part("", labels, value);
    }

    /// Writes a sample of one part of the family, such as `_sum`.
    pub(super) fn part(&mut self, part: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(&self.name);
        self.text.push_str(part);
        for (index, (label, value)) in labels.iter().enumerate() {
            self.text.push(if index == 0 { '{' } else { ',' });
            self.text.push_str(label);
            self.text.push_str("=\"");
            self.escape(value);
            self.text.push('"');
        }
        let end = if labels.is_empty() { " " } else { "} " };
        self.text.push_str(end);
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{value}");
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.text
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.name = name.to_owned();
        for (word, said) in [("HELP", help), ("TYPE", kind)] {
            self.text.extend(["# ", word, " ", name, " ", said, "\n"]);
        }
    }

    /// Names of routes are the operator's: they may hold anything.
    fn escape(&mut self, value: &str) {
        for character in value.chars() {
            match character {
                '\\' => self.text.push_str("\\\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str("\\n"),
                other => self.text.push(other),
            }
        }
    }
}
