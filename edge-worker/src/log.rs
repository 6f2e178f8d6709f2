//! The log: each line is one JSON object, with `level` and `event`, for whoever collects it.
//!
//! Invariant: nothing that a client sends is in it, neither keys nor bodies, and no secret. An
//! operation is named by its reference.

use std::fmt::Display;

use serde::Serialize;
use serde_json::{Map, Value};

/// How much is said of an error whose text is somebody else's.
const LONGEST_DETAIL: usize = 500;

/// A line, until it is written.
#[must_use]
pub(crate) struct Line {
    level: Level,
    fields: Map<String, Value>,
}

#[derive(Clone, Copy)]
enum Level {
    Error,
    Info,
    Warn,
}

/// Something that should not be, and that nothing makes good.
pub(crate) fn error(event: &str) -> Line {
    Line::new(Level::Error, event)
}

/// Something that went as it should.
pub(crate) fn info(event: &str) -> Line {
    Line::new(Level::Info, event)
}

/// Something that should not be, and that is made good; or that somebody should know.
pub(crate) fn warn(event: &str) -> Line {
    Line::new(Level::Warn, event)
}

impl Line {
    fn new(level: Level, event: &str) -> Self {
        let fields = Map::new();
        Self { level, fields }.with("event", event)
    }

    /// Names the operation, by its reference.
    pub(crate) fn operation(self, reference: &str) -> Self {
        self.with("operation", reference)
    }

    pub(crate) fn attempt(self, attempt: u32) -> Self {
        self.with("attempt", attempt)
    }

    /// What went wrong, in somebody else's words.
    pub(crate) fn detail(self, detail: impl Display) -> Self {
        let detail: String = detail.to_string().chars().take(LONGEST_DETAIL).collect();
        self.with("detail", detail)
    }

    /// Adds a field. What cannot be written as JSON is left out: a log must not fail.
    pub(crate) fn with(mut self, name: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.fields.insert(name.to_owned(), value);
        }
        self
    }

    pub(crate) fn write(mut self) {
        let level = match self.level {
            Level::Error => "error",
            Level::Info => "info",
            Level::Warn => "warn",
        };
        self.fields.insert("level".to_owned(), level.into());
        let line = Value::Object(self.fields);
        match self.level {
            Level::Error => worker::console_error!("{line}"),
            Level::Info => worker::console_log!("{line}"),
            Level::Warn => worker::console_warn!("{line}"),
        }
    }
}
