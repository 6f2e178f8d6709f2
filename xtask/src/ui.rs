//! What a person sees while work goes on. Invariant: a running step says at least every ten seconds that it is alive.
//!
//! Progress goes to standard error, so that standard output holds results only.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const FRAMES: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
const TERMINAL_TICK: Duration = Duration::from_millis(120);
const PLAIN_TICK: Duration = Duration::from_secs(10);
/// Wide enough for a message, short enough not to wrap on an 80-column terminal.
const LINE_WIDTH: usize = 78;

/// One step of the work, shown from its start until it is dropped.
pub(crate) struct Step {
    title: String,
    started: Instant,
    notes: Option<Sender<String>>,
    painter: Option<JoinHandle<()>>,
    finished: bool,
}

impl Step {
    /// Shows the step at once.
    pub(crate) fn start(title: impl Into<String>) -> Self {
        let title = title.into();
        let (notes, inbox) = channel();
        let (started, shown) = (Instant::now(), title.clone());
        let painter = std::thread::spawn(move || paint(&shown, started, &inbox));
        Self {
            title,
            started,
            notes: Some(notes),
            painter: Some(painter),
            finished: false,
        }
    }

    /// Shows what the step is busy with; the newest note wins.
    pub(crate) fn note(&self, note: &str) {
        let note = note.trim();
        if let (Some(notes), false) = (&self.notes, note.is_empty()) {
            // The painter ends only after this sender; a failed send means that it panicked, and then nobody looks.
            let _ = notes.send(note.to_owned());
        }
    }

    /// Ends the step as done.
    pub(crate) fn done(mut self) {
        self.finished = true;
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        drop(self.notes.take());
        if let Some(painter) = self.painter.take() {
            let _ = painter.join();
        }
        let mark = if self.finished { "ok    " } else { "failed" };
        say(&format!(
            "{mark} {} ({})",
            self.title,
            seconds(self.started.elapsed())
        ));
    }
}

/// Prints one plain line of progress.
pub(crate) fn say(line: &str) {
    let mut out = stderr().lock();
    // A closed standard error must not end the work, nor its clean-up.
    let _ = writeln!(out, "{line}");
}

/// A duration as a person reads it.
pub(crate) fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0..=59 => format!("{:.1} s", duration.as_secs_f64()),
        secs => format!("{} min {:02} s", secs / 60, secs % 60),
    }
}

fn paint(title: &str, started: Instant, notes: &Receiver<String>) {
    let terminal = stderr().is_terminal();
    let tick = if terminal { TERMINAL_TICK } else { PLAIN_TICK };
    let (mut note, mut frame, mut next) = (String::new(), 0, Instant::now() + tick);
    if !terminal {
        say(&format!("...    {title}"));
    }
    loop {
        match notes.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(newer) => note = newer,
            Err(RecvTimeoutError::Timeout) => {
                let line = format!("{title}, {}  {note}", seconds(started.elapsed()));
                draw(terminal, FRAMES[frame % FRAMES.len()], &line);
                (frame, next) = (frame + 1, Instant::now() + tick);
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if terminal {
        draw(true, "", "");
    }
}

fn draw(terminal: bool, frame: &str, line: &str) {
    if !terminal {
        return say(&format!("...    {line}"));
    }
    let line: String = line.chars().take(LINE_WIDTH).collect();
    let mut out = stderr().lock();
    let _ = write!(
        out,
        "\r\x1b[K{frame}{}{line}{}",
        if frame.is_empty() { "" } else { " " },
        if frame.is_empty() { "\r" } else { "" }
    );
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well_on_both_sides_of_a_minute() {
        assert_eq!(seconds(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(61)), "1 min 01 s");
    }
}
