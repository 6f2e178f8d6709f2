//! What is measured, in turns. Invariant: every lap is checked by what the origin executed during it, so that a figure is
//! of what its name says.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use oncegate_core::recent::REPLAYS_FOR_MS;

use super::keys::{Keys, request};
use super::load::{self, Lap, Script};
use super::origin::Origin;
use super::report::{Figures, Row, Section};
use super::rivals::Running;
use super::runtime::Runtime;

/// Connections, and requests on each of them.
type Shape = (usize, usize);

/// What sends a script to an address, and which status it takes for an answer.
type Run = fn(&str, &Script, u16) -> Result<Lap>;

/// The usual load: enough to keep the runtime busy, little enough for a lap of about a second.
const USUAL: Shape = (32, 40);
/// For shards that are filled: keys of one shard are dear to find.
const SMALL: Shape = (32, 10);
/// So few that their objects stay awake between two laps, as those of a busy gate do: otherwise the waking of a thousand
/// objects in one process would be measured, which on the platform are a thousand processes.
const AWAKE: [u16; 16] = [
    100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115,
];
/// Duplicates at once, as others measured them.
const CROWD: Shape = (100, 10);

/// The parts that are measured.
pub(super) struct Rounds<'a> {
    pub(super) pass_through: Runtime,
    pub(super) hops: Runtime,
    pub(super) gate: Runtime,
    pub(super) rivals: Vec<Running>,
    pub(super) origin: &'a Origin,
    pub(super) keys: &'a mut Keys,
}

impl Rounds<'_> {
    /// Pass-through, gate and rivals, in turns.
    pub(super) fn compared(&mut self, rounds: usize, service_ms: u64) -> Result<Section> {
        self.origin.work_for(service_ms);
        let title = format!("the origin works for {service_ms} ms");
        let mut section = Section::new(title, self.rows());
        // The first one warms up and is not counted.
        self.compare(service_ms)?;
        for _ in 0..rounds {
            section.take(self.compare(service_ms)?);
        }
        Ok(section)
    }

    fn rows(&self) -> Vec<Row> {
        let rows = [
            ("pass-through", 0),
            ("the hops alone", 0),
            ("first execution", 0),
            ("replay, executed a moment ago", 0),
            ("replay, asked of its shard", 0),
            ("replay of one key", 0),
            ("pass-through, 100 connections", 6),
            ("one key at once, 100 connections", 6),
        ];
        let rivals = self.rivals.iter().flat_map(|rival| {
            let rows = [
                ("first execution", 0),
                ("replay", 0),
                ("replay of one key", 0),
                ("one key at once", 6),
            ];
            rows.map(|(name, like)| Row::new(format!("{}: {name}", rival.name), like))
        });
        let rows = rows.map(|(name, like)| Row::new(name, like));
        rows.into_iter().chain(rivals).collect()
    }

    fn compare(&mut self, service_ms: u64) -> Result<Vec<Figures>> {
        let own = script(USUAL, || {
            request(self.pass_through.address(), &self.keys.any())
        });
        let hops = script(USUAL, || request(self.hops.address(), &self.keys.any()));
        let gate = self.gate.address();
        let of_gate = Scripts::new(|| request(gate, &self.keys.in_one_of(&AWAKE, gate).1));
        let retried = script(within_a_moment(service_ms), || {
            request(gate, &self.keys.in_one_of(&AWAKE, gate).1)
        });
        let crowd_own = script(CROWD, || {
            request(self.pass_through.address(), &self.keys.any())
        });
        let of_rivals: Vec<Scripts> = self
            .rivals
            .iter()
            .map(|rival| Scripts::new(|| request(rival.runtime.address(), &self.keys.any())))
            .collect();
        let mut figures = vec![
            self.lap(&self.pass_through, &own, count(USUAL))?,
            self.lap(&self.hops, &hops, count(USUAL))?,
            self.lap(&self.gate, &of_gate.first, count(USUAL))?,
            self.just_executed(&retried)?,
            self.after_a_moment(&of_gate.again)?,
            self.lap(&self.gate, &of_gate.hot, 0)?,
            self.lap(&self.pass_through, &crowd_own, count(CROWD))?,
            self.lap(&self.gate, &of_gate.crowd, 1)?,
        ];
        for (Running { name, runtime, .. }, scripts) in self.rivals.iter().zip(of_rivals) {
            let laps = self.rival(runtime, &scripts);
            figures.extend(laps.with_context(|| format!("{name} cannot be measured"))?);
        }
        Ok(figures)
    }

    /// Replays what was executed a moment ago.
    fn just_executed(&self, script: &Script) -> Result<Figures> {
        let (began, executed) = (Instant::now(), script.iter().map(Vec::len).sum());
        self.lap(&self.gate, script, executed)?;
        let replayed = self.lap(&self.gate, script, 0)?;
        if began.elapsed() >= MOMENT {
            bail!(
                "the gate forgot what was to be replayed within {MOMENT:?}: the machine is too slow"
            );
        }
        Ok(replayed)
    }

    /// Replays what the gate does not remember any more.
    fn after_a_moment(&self, script: &Script) -> Result<Figures> {
        wait_a_moment();
        self.lap(&self.gate, script, 0)
    }

    fn rival(&self, runtime: &Runtime, scripts: &Scripts) -> Result<[Figures; 4]> {
        Ok([
            self.lap(runtime, &scripts.first, count(USUAL))?,
            self.lap(runtime, &scripts.again, 0)?,
            self.lap(runtime, &scripts.hot, 0)?,
            self.rivals_crowd(runtime, &scripts.crowd)?,
        ])
    }

    /// What a rival makes of a crowd is counted, where the gate has to serve everybody.
    fn rivals_crowd(&self, runtime: &Runtime, script: &Script) -> Result<Figures> {
        let (figures, calls) = self.counted(runtime, script, load::run_with_conflicts)?;
        let Some(excess) = calls.checked_sub(1) else {
            bail!("the origin was not called");
        };
        Ok(figures.with_excess(excess))
    }

    /// The gate with shards that hold so many operations already, in turns.
    pub(super) fn stored(
        &mut self,
        rounds: usize,
        stored: &[u32],
        shards: &[u16],
    ) -> Result<Section> {
        self.origin.work_for(0);
        let rows: Vec<Row> = stored
            .iter()
            .flat_map(|rows| {
                [("first execution", 0), ("replay", 1)]
                    .map(|(name, like)| Row::new(format!("{name}, {rows} stored"), like))
            })
            .collect();
        let mut section = Section::new("one shard, the origin works for 0 ms", rows);
        self.compare_stored(shards)?;
        for _ in 0..rounds {
            section.take(self.compare_stored(shards)?);
        }
        Ok(section)
    }

    fn compare_stored(&mut self, shards: &[u16]) -> Result<Vec<Figures>> {
        let mut of_shard = vec![Vec::new(); shards.len()];
        while of_shard.iter().any(|keys| keys.len() < count(SMALL)) {
            let (place, key) = self.keys.in_one_of(shards, self.gate.address());
            of_shard[place].push(key);
        }
        let scripts = of_shard.into_iter().map(|keys| {
            let mut keys = keys.into_iter();
            let mut next = || keys.next().unwrap_or_default();
            script(SMALL, || request(self.gate.address(), &next()))
        });
        let scripts: Vec<Script> = scripts.collect();
        let laps = |executed| -> Result<Vec<Figures>> {
            let laps = scripts.iter();
            laps.map(|script| self.lap(&self.gate, script, executed))
                .collect()
        };
        let firsts = laps(count(SMALL))?;
        wait_a_moment();
        let pairs = firsts.into_iter().zip(laps(0)?);
        Ok(pairs.flat_map(|(first, replay)| [first, replay]).collect())
    }

    fn lap(&self, runtime: &Runtime, script: &Script, executed: usize) -> Result<Figures> {
        let (figures, calls) = self.counted(runtime, script, load::run)?;
        if calls != executed as u64 {
            bail!(
                "the origin was called {calls} times, not {executed} times as was to be measured"
            );
        }
        Ok(figures)
    }

    /// A lap, and how often the origin was called during it.
    fn counted(&self, runtime: &Runtime, script: &Script, run: Run) -> Result<(Figures, u64)> {
        let (calls, cpu) = (self.origin.calls(), runtime.cpu()?);
        let lap = run(runtime.address(), script, 201)?;
        let (calls, cpu) = (self.origin.calls() - calls, runtime.cpu()? - cpu);
        Ok((Figures::new(&lap, cpu), calls))
    }
}

/// What a Worker is sent that executes once.
struct Scripts {
    first: Script,
    again: Script,
    hot: Script,
    crowd: Script,
}

impl Scripts {
    /// Of requests under a new key each.
    fn new(mut one: impl FnMut() -> Vec<u8>) -> Self {
        let first = script(USUAL, &mut one);
        let hot = vec![vec![first[0][0].clone(); USUAL.1]; USUAL.0];
        let mut again = first.clone();
        again.rotate_left(USUAL.0 / 2);
        let crowd = vec![vec![one(); CROWD.1]; CROWD.0];
        Self {
            first,
            again,
            hot,
            crowd,
        }
    }
}

/// As long as the gate remembers what it has answered.
const MOMENT: Duration = Duration::from_millis(REPLAYS_FOR_MS);

/// So many requests that an origin which works for so long executes all of them in half a moment.
fn within_a_moment(service_ms: u64) -> Shape {
    let (connections, most) = SMALL;
    let requests = REPLAYS_FOR_MS / 2 / (service_ms + 50);
    (connections, (requests as usize).clamp(1, most))
}

/// Until the gate remembers nothing of what it has answered: then a replay is its shard's to answer.
pub(super) fn wait_a_moment() {
    sleep(MOMENT + Duration::from_millis(100));
}

fn script((connections, requests): Shape, mut request: impl FnMut() -> Vec<u8>) -> Script {
    let mut connection = || (0..requests).map(|_| request()).collect();
    (0..connections).map(|_| connection()).collect()
}

fn count((connections, requests): Shape) -> usize {
    connections * requests
}
