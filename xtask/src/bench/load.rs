//! The load: so many connections that each send one request after the other. Invariant: all begin at once, on connections
//! that are open already, and a request that is not answered as expected ends the benchmark. A conflict is expected only where the
//! caller says so.
//!
//! One thread for each connection, and blocking calls: two system calls a request, and hardly anything besides. On a
//! machine with two cores the load must not be what is measured.

use std::sync::Barrier;
use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail};

use super::wire::Wire;

/// That a request under the same key is under way.
const CONFLICT: u16 = 409;

/// The requests of each connection, in their order, as bytes.
pub(super) type Script = Vec<Vec<Vec<u8>>>;

/// What was measured.
pub(super) struct Lap {
    /// From the first request to the last answer.
    pub(super) wall: Duration,
    /// How long each request took, in rising order.
    pub(super) latencies: Vec<Duration>,
    /// How many of them were answered with 409.
    pub(super) conflicts: usize,
}

impl Lap {
    pub(super) fn throughput(&self) -> f64 {
        self.latencies.len() as f64 / self.wall.as_secs_f64()
    }

    /// The latency that this share of the requests did not exceed, in milliseconds.
    pub(super) fn percentile_ms(&self, share: f64) -> f64 {
        let rank = (self.latencies.len() as f64 * share).ceil() as usize;
        let index = rank.clamp(1, self.latencies.len()) - 1;
        self.latencies[index].as_secs_f64() * 1_000.0
    }
}

/// Sends every request of the script; each has to be answered with this status.
pub(super) fn run(address: &str, script: &Script, status: u16) -> Result<Lap> {
    send(address, script, &[status])
}

/// The same for a Worker that may also answer with a conflict.
pub(super) fn run_with_conflicts(address: &str, script: &Script, status: u16) -> Result<Lap> {
    send(address, script, &[status, CONFLICT])
}

fn send(address: &str, script: &Script, expected: &[u16]) -> Result<Lap> {
    let wires: Vec<Wire> = script
        .iter()
        .map(|_| Wire::connect(address))
        .collect::<Result<_>>()?;
    let start = Barrier::new(script.len() + 1);
    let (wall, answers) = scope(|scope| {
        let workers: Vec<_> = wires
            .into_iter()
            .zip(script)
            .map(|(wire, requests)| scope.spawn(|| connection(wire, requests, expected, &start)))
            .collect();
        start.wait();
        let began = Instant::now();
        let answers = workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .map_err(|_| Error::msg("a connection's thread panicked"))?
            })
            .collect::<Result<Vec<_>>>();
        (began.elapsed(), answers)
    });
    let answers = answers?.concat();
    let conflicts = answers.iter().filter(|(_, status)| *status == CONFLICT);
    let conflicts = conflicts.count();
    let mut latencies: Vec<Duration> = answers.into_iter().map(|(latency, _)| latency).collect();
    latencies.sort_unstable();
    Ok(Lap {
        wall,
        latencies,
        conflicts,
    })
}

fn connection(
    mut wire: Wire,
    requests: &[Vec<u8>],
    expected: &[u16],
    start: &Barrier,
) -> Result<Vec<(Duration, u16)>> {
    let mut answers = Vec::with_capacity(requests.len());
    start.wait();
    for request in requests {
        let began = Instant::now();
        wire.write(request)?;
        let answer = wire.read()?.context("a connection was closed")?;
        answers.push((began.elapsed(), answer.status()));
        if !expected.contains(&answer.status()) {
            bail!(
                "an answer that is not {}: {}\n{}",
                expected[0],
                String::from_utf8_lossy(answer.head),
                String::from_utf8_lossy(answer.body)
            );
        }
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::super::origin::Origin;
    use super::*;

    const REQUEST: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n";

    #[test]
    fn every_request_of_every_connection_is_sent_and_measured() {
        let origin = Origin::start().unwrap();
        let script = vec![vec![REQUEST.to_vec(); 7]; 3];
        let lap = run(origin.url().trim_start_matches("http://"), &script, 201).unwrap();
        assert_eq!((lap.latencies.len(), origin.calls()), (21, 21));
        assert!(lap.latencies.is_sorted());
    }

    #[test]
    fn another_status_ends_the_benchmark() {
        let origin = Origin::start().unwrap();
        let script = vec![vec![REQUEST.to_vec()]];
        let error = run(origin.url().trim_start_matches("http://"), &script, 200);
        let error = error.err().unwrap().to_string();
        assert!(
            error.starts_with("an answer that is not 200: HTTP/1.1 201"),
            "{error}"
        );
    }

    #[test]
    fn a_conflict_is_counted_where_it_is_expected_and_ends_the_benchmark_elsewhere() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut wire = Wire::new(stream).unwrap();
                for status in [201, 409, 409] {
                    wire.read().unwrap();
                    let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
                    wire.write(answer.as_bytes()).unwrap();
                }
            }
        });
        let script = vec![vec![REQUEST.to_vec(); 3]; 2];
        let lap = run_with_conflicts(&address, &script, 201).unwrap();
        assert_eq!((lap.latencies.len(), lap.conflicts), (6, 4));
        let error = run(&address, &script, 201).err().unwrap().to_string();
        assert!(
            error.starts_with("an answer that is not 201: HTTP/1.1 409"),
            "{error}"
        );
    }

    #[test]
    fn percentiles_are_latencies_that_were_measured() {
        let lap = Lap {
            wall: Duration::from_secs(1),
            latencies: (1..=200).map(Duration::from_millis).collect(),
            conflicts: 0,
        };
        assert_eq!(
            [0.5, 0.95, 0.99, 1.0].map(|share| lap.percentile_ms(share)),
            [100.0, 190.0, 198.0, 200.0]
        );
        assert_eq!(lap.throughput(), 200.0);
    }
}
