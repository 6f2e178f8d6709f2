//! The origin of a benchmark: a ledger that executes whatever comes, so that what is measured is what stands before it.
//! Invariant: every call is counted, so that a measurement can say what was executed.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use anyhow::{Context, Result};

use super::wire::Wire;

/// As long as a small order.
const BODY: &str = r#"{"order":{"id":"ord_01KB8Y5V7QGZ4M2W","item":"tea-kettle","quantity":1,"amount":{"value":3900,"currency":"EUR"},"status":"paid","created":"2026-11-30T00:00:00Z"},"payment":{"id":"pay_01KB8Y5V7QH2R9TN","state":"captured"}}"#;

/// A running origin. It ends with the program.
pub(super) struct Origin {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    calls: AtomicU64,
    service_ms: AtomicU64,
    answer: String,
}

impl Origin {
    /// Starts to listen on any free port.
    pub(super) fn start() -> Result<Self> {
        let listener =
            TcpListener::bind("127.0.0.1:0").context("no port for the benchmark's origin")?;
        let shared = Arc::new(Shared {
            calls: AtomicU64::new(0),
            service_ms: AtomicU64::new(0),
            answer: format!(
                "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nlocation: /orders/ord_01KB8Y5V7QGZ4M2W\r\n\
                 idempotency-outcome: executed\r\ncontent-length: {}\r\n\r\n{BODY}",
                BODY.len()
            ),
        });
        let address = listener.local_addr()?;
        let serving = Arc::clone(&shared);
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                // A connection that fails is the runtime's to open again; what it lost shows in the answers.
                spawn(move || Wire::new(stream).and_then(|wire| serve(wire, &shared)));
            }
        });
        Ok(Self { address, shared })
    }

    /// Its address, as in a URL.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many requests have come so far.
    pub(super) fn calls(&self) -> u64 {
        self.shared.calls.load(Ordering::Relaxed)
    }

    /// How long it works on each request from now on.
    pub(super) fn work_for(&self, service_ms: u64) {
        self.shared.service_ms.store(service_ms, Ordering::Relaxed);
    }
}

fn serve(mut wire: Wire, shared: &Shared) -> Result<()> {
    while wire.read()?.is_some() {
        shared.calls.fetch_add(1, Ordering::Relaxed);
        match shared.service_ms.load(Ordering::Relaxed) {
            0 => {}
            service_ms => sleep(Duration::from_millis(service_ms)),
        }
        wire.write(shared.answer.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_counted_and_answered_as_executed() {
        let origin = Origin::start().unwrap();
        let mut wire = Wire::connect(origin.url().trim_start_matches("http://")).unwrap();
        for calls in 1..=2 {
            wire.write(b"POST /orders HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
                .unwrap();
            let answer = wire.read().unwrap().unwrap();
            let head = String::from_utf8(answer.head.to_vec()).unwrap();
            assert_eq!(answer.status(), 201);
            assert!(head.contains("idempotency-outcome: executed"), "{head}");
            assert_eq!(answer.body, BODY.as_bytes());
            assert_eq!(origin.calls(), calls);
        }
    }
}
