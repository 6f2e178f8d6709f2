//! Reading what tools print. Invariant: bytes that are no UTF-8 never stop a build.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

const TAIL_LINES: usize = 20;

/// Reads to the end, handing over each line without its end and without terminal colours.
pub(super) fn read_lines(reader: impl Read, mut on_line: impl FnMut(&str)) -> String {
    let (mut reader, mut bytes, mut text) = (BufReader::new(reader), Vec::new(), String::new());
    // A read error on a pipe means that the other end is gone: the same as its end.
    while matches!(reader.read_until(b'\n', &mut bytes), Ok(read) if read > 0) {
        let line = plain(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
        on_line(&line);
        text.push_str(&line);
        text.push('\n');
        bytes.clear();
    }
    text
}

/// Writes a line to a log; a full disk must not hide the tool's own result.
pub(super) fn append(log: &mut File, line: &str) {
    let _ = writeln!(log, "{line}");
}

/// The last lines of a log file.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read(log)
        .map(|bytes| plain(&String::from_utf8_lossy(&bytes)))
        .unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// Without escape sequences: tools colour their output even where nobody asked.
fn plain(text: &str) -> String {
    let mut pieces = text.split('\x1b');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let body = piece.strip_prefix('[').unwrap_or(piece);
        let end = body
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(body.len(), |at| at + 1);
        out.push_str(&body[end..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(plain("\x1b[1m\x1b[32mok\x1b[0m done"), "ok done");
        assert_eq!(plain("no colour"), "no colour");
        assert_eq!(plain("cut \x1b[3"), "cut ");
    }

    #[test]
    fn bytes_that_are_no_utf8_pass() {
        assert_eq!(read_lines(&b"a\xff\nb"[..], |_| ()), "a\u{fffd}\nb\n");
    }
}
