//! HTTP/1.1 as far as a benchmark needs it: messages with a Content-Length, on connections that stay open. Invariant: what
//! is read is one whole message, and nothing of the next one.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, bail};

/// Longer than any message of a benchmark.
const LARGEST: usize = 64 * 1024;

/// One connection, and what was read of it so far.
pub(super) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

/// A message that was read.
pub(super) struct Message<'a> {
    /// First line and header fields, without the empty line after them.
    pub(super) head: &'a [u8],
    pub(super) body: &'a [u8],
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Result<Self> {
        // Each message is one write; waiting for more of it would measure the waiting.
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: vec![0; LARGEST],
            filled: 0,
        })
    }

    pub(super) fn connect(address: &str) -> Result<Self> {
        Self::new(TcpStream::connect(address).with_context(|| format!("cannot reach {address}"))?)
    }

    pub(super) fn write(&mut self, message: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(message)?)
    }

    /// The next message; `None` if the other side has closed the connection instead.
    pub(super) fn read(&mut self) -> Result<Option<Message<'_>>> {
        self.filled = 0;
        let head = loop {
            if let Some(head) = head_length(&self.buffer[..self.filled]) {
                break head;
            }
            if !self.more()? {
                return match self.filled {
                    0 => Ok(None),
                    _ => bail!("a message broke off in its head"),
                };
            }
        };
        let (start, length) = (head + 4, content_length(&self.buffer[..head])?);
        while self.filled < start + length {
            if !self.more()? {
                bail!("a message broke off in its body");
            }
        }
        if self.filled > start + length {
            bail!("a second message came before it was asked for");
        }
        Ok(Some(Message {
            head: &self.buffer[..head],
            body: &self.buffer[start..self.filled],
        }))
    }

    fn more(&mut self) -> Result<bool> {
        let free = &mut self.buffer[self.filled..];
        if free.is_empty() {
            bail!("a message of more than {LARGEST} bytes");
        }
        let count = self.stream.read(free)?;
        self.filled += count;
        Ok(count > 0)
    }
}

impl Message<'_> {
    /// The status of an answer; 0 for what is none.
    pub(super) fn status(&self) -> u16 {
        let digits = self.head.get(9..12).unwrap_or_default();
        std::str::from_utf8(digits)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    }
}

fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n")
}

fn content_length(head: &[u8]) -> Result<usize> {
    let lines = head.split(|byte| *byte == b'\n');
    for line in lines {
        if let Some((name, value)) = line.split_at_checked(15)
            && name.eq_ignore_ascii_case(b"content-length:")
        {
            let text = std::str::from_utf8(value)?.trim();
            return text
                .parse()
                .with_context(|| format!("`{text}` is no Content-Length"));
        }
    }
    bail!(
        "a message without Content-Length: {}",
        String::from_utf8_lossy(head)
    )
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (Wire, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let wire = Wire::connect(&address).unwrap();
        (wire, listener.accept().unwrap().0)
    }

    #[test]
    fn a_message_is_whole_however_it_is_cut() {
        let (mut wire, mut other) = pair();
        let message = b"HTTP/1.1 201 Created\r\ncontent-LENGTH: 5\r\nx: y\r\n\r\nhello";
        let writer = std::thread::spawn(move || {
            for byte in message {
                other.write_all(&[*byte]).unwrap();
            }
        });
        let read = wire.read().unwrap().unwrap();
        assert_eq!((read.status(), read.body), (201, &b"hello"[..]));
        assert!(read.head.ends_with(b"x: y"));
        writer.join().unwrap();
        assert!(wire.read().unwrap().is_none());
    }

    #[test]
    fn a_message_that_breaks_off_is_an_error() {
        for (sent, error) in [
            ("HTTP/1.1 200 OK\r\n", "a message broke off in its head"),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nx",
                "a message broke off in its body",
            ),
        ] {
            let (mut wire, mut other) = pair();
            other.write_all(sent.as_bytes()).unwrap();
            drop(other);
            assert_eq!(wire.read().err().unwrap().to_string(), error);
        }
    }
}
