//! Answers for tests in other languages: a line with `{"key": "…"}` or `{"json": "…"}` comes in, a line
//! with `{"ok": "…"}` or `{"error": "…"}` goes out.

use std::io::{self, BufRead, Write};

use oncegate_core::body::canonical;
use oncegate_core::key::Key;
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?).map_err(io::Error::other)?;
        writeln!(out, "{}", answer(&asked))?;
    }
    out.flush()
}

fn answer(asked: &Value) -> Value {
    let decided = match (asked["key"].as_str(), asked["json"].as_str()) {
        (Some(header), None) => Key::parse(header)
            .map(|key| key.as_str().to_owned())
            .map_err(|error| error.to_string()),
        (None, Some(body)) => {
            canonical::text(body.as_bytes(), &[]).map_err(|error| error.to_string())
        }
        _ => Err("a question names a key or a json".to_owned()),
    };
    match decided {
        Ok(text) => json!({ "ok": text }),
        Err(error) => json!({ "error": error }),
    }
}
