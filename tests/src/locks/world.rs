//! One run: programs, the network between them and the object, and what goes wrong.

mod judge;

use std::collections::BTreeMap;

use oncegate_core::lock::{HANDOVER_MS, Place};

use super::object::{Answer, Object, Request};
use super::program::{Doing, Program};
use super::{LockBug, LockOracle, LockSummary};
use crate::drawn::Failed;
use crate::queue::Queue;
use crate::random::Random;

const START_MS: u64 = 1_900_000_000_000;
const TTL_MS: u64 = 6_000;
const WAIT_MS: u64 = 8_000;
/// Until when things go wrong, and until when everything must be done.
const FAULTS_END_MS: u64 = START_MS + 120_000;
const END_MS: u64 = START_MS + 1_200_000;
/// How many numbers of askers a request has room for.
const TRIES: u64 = 1_000;

#[derive(Clone, Debug)]
enum Event {
    Acts(usize),
    Arrives(u64, Request),
    Answered(usize, u64, Answer),
    Crashes(usize),
    Evicted,
    ClockSet(i64),
    Rings(u64),
    Stored,
    /// Somebody who is gone must have lost by now what it was handed.
    Checked {
        fence: u64,
    },
    Passes,
}

pub(super) struct World {
    seed: u64,
    bug: Option<LockBug>,
    random: Random,
    queue: Queue<Event>,
    now_ms: u64,
    offset_ms: i64,
    jumps: bool,
    object: Object,
    armed_ms: Option<u64>,
    programs: Vec<Program>,
    calls: u64,
    requests: u64,
    summary: LockSummary,
    last_fence: u64,
    /// By request: how many evictions there had been when it was granted.
    had: BTreeMap<u64, u64>,
    /// When an asker came first, and when its present connection began.
    first: BTreeMap<u64, u64>,
    since: BTreeMap<u64, u64>,
}

impl World {
    pub(super) fn new(seed: u64, bug: Option<LockBug>) -> Self {
        let mut random = Random::new(seed);
        let programs = random.between(2, 4);
        let mut world = Self {
            seed,
            bug,
            queue: Queue::new(),
            now_ms: START_MS,
            offset_ms: 0,
            jumps: seed % 4 == 3,
            object: Object::new(START_MS, bug),
            armed_ms: None,
            programs: Vec::new(),
            calls: 0,
            requests: 0,
            summary: LockSummary::default(),
            last_fence: 0,
            had: BTreeMap::new(),
            first: BTreeMap::new(),
            since: BTreeMap::new(),
            random,
        };
        for number in 0..usize::try_from(programs).unwrap_or_default() {
            world.programs.push(Program::new(4));
            let at_ms = START_MS + world.random.between(0, 2_000);
            world.queue.push(at_ms, Event::Acts(number));
        }
        world.draw_faults();
        for second in 1..=120 {
            world.queue.push(START_MS + second * 1_000, Event::Passes);
        }
        world
    }

    fn draw_faults(&mut self) {
        let at = |random: &mut Random| START_MS + random.between(1_000, 120_000);
        for _ in 0..self.random.between(0, 6) {
            let at_ms = at(&mut self.random);
            self.queue.push(at_ms, Event::Evicted);
        }
        for _ in 0..self.random.between(0, 4) {
            let number =
                usize::try_from(self.random.bits()).unwrap_or_default() % self.programs.len();
            let at_ms = at(&mut self.random);
            self.queue.push(at_ms, Event::Crashes(number));
        }
        for _ in 0..self.random.between(0, 2) {
            let by_ms = self.random.between(1_000, 3_600_000).cast_signed();
            let at_ms = at(&mut self.random);
            let forward = self.jumps && self.random.chance(500);
            let by_ms = if forward { by_ms } else { -by_ms };
            self.queue.push(at_ms, Event::ClockSet(by_ms));
        }
    }

    pub(super) fn run(mut self) -> Result<LockSummary, Failed<LockOracle>> {
        while let Some((at_ms, event)) = self.queue.pop() {
            if at_ms > END_MS {
                break;
            }
            self.now_ms = at_ms;
            self.take(event)?;
            self.look()?;
        }
        let is_done = |program: &Program| matches!(program.doing, Doing::Finished);
        match self.programs.iter().position(|program| !is_done(program)) {
            Some(number) => self.fail(
                LockOracle::NobodyStarves,
                &format!("program {number}: {:?}", self.programs[number]),
            ),
            None => Ok(self.summary),
        }
    }

    fn take(&mut self, event: Event) -> Result<(), Failed<LockOracle>> {
        match event {
            Event::Acts(number) => self.act(number),
            Event::Arrives(call, request) => return self.arrive(call, request),
            Event::Answered(number, call, answer) => self.hear(number, call, &answer),
            Event::Crashes(number) => {
                let rounds = self.programs[number].rounds;
                self.programs[number] = Program::new(rounds);
                self.act_in(number, 20_000);
            }
            Event::Evicted => {
                self.summary.evictions += 1;
                let clock_ms = self.clock_ms();
                self.object.evict(clock_ms);
                self.since.clear();
                self.armed_ms = None;
            }
            Event::ClockSet(by_ms) => self.offset_ms += by_ms,
            Event::Rings(at_ms) if self.armed_ms == Some(at_ms) => {
                self.armed_ms = None;
                let clock_ms = self.clock_ms();
                let answers = self.object.pass_time(clock_ms);
                return self.answer(answers);
            }
            Event::Stored => self.object.store(),
            Event::Checked { fence } => return self.check_gone(fence),
            Event::Rings(_) | Event::Passes => {}
        }
        Ok(())
    }

    fn clock_ms(&self) -> u64 {
        self.now_ms.saturating_add_signed(self.offset_ms)
    }

    fn act_in(&mut self, number: usize, most_ms: u64) {
        let at_ms = self.now_ms + self.random.between(1, most_ms);
        self.queue.push(at_ms, Event::Acts(number));
    }

    /// A program does what is next; it also does so when an answer is late.
    fn act(&mut self, number: usize) {
        let now_ms = self.now_ms;
        let program = self.programs[number].clone();
        if let Some((_, sent_ms)) = program.call
            && now_ms < sent_ms + self.patience_ms(&program)
        {
            return;
        }
        match program.doing {
            Doing::Finished => {}
            Doing::Rests if program.rounds == 0 => self.programs[number].doing = Doing::Finished,
            Doing::Rests => self.ask_anew(number),
            Doing::Asks { place } => {
                if self.bug == Some(LockBug::KeyIgnored) {
                    self.programs[number].asker += 1;
                }
                self.ask(number, place);
            }
            Doing::Works { ends_ms, .. } if ends_ms != 0 && now_ms >= ends_ms => {
                self.programs[number].doing = Doing::Rests;
                self.act_in(number, 500);
            }
            Doing::Works { owner, done_ms, .. } if now_ms >= done_ms => {
                self.programs[number].doing = Doing::Releases;
                self.send(number, Request::Release(owner));
            }
            Doing::Works { owner, .. } => self.send(number, Request::Renew(owner)),
            Doing::Releases => self.finish_round(number),
        }
    }

    fn patience_ms(&self, program: &Program) -> u64 {
        match program.doing {
            Doing::Asks { .. } => WAIT_MS + 1_500,
            _ => 700,
        }
    }

    fn ask_anew(&mut self, number: usize) {
        self.requests += 1;
        self.programs[number].asker = self.requests * TRIES;
        self.ask(number, None);
    }

    fn ask(&mut self, number: usize, place: Option<Place>) {
        self.programs[number].doing = Doing::Asks { place };
        let asker = self.programs[number].asker;
        let (ttl_ms, wait_ms) = (TTL_MS, WAIT_MS);
        self.send(
            number,
            Request::Acquire {
                asker,
                ttl_ms,
                wait_ms,
                place,
            },
        );
    }

    fn finish_round(&mut self, number: usize) {
        let program = &mut self.programs[number];
        (program.rounds, program.doing, program.call) = (program.rounds - 1, Doing::Rests, None);
        self.act_in(number, 3_000);
    }

    fn send(&mut self, number: usize, request: Request) {
        self.calls += 1;
        let (call, now_ms) = (self.calls, self.now_ms);
        self.programs[number].call = Some((call, now_ms));
        let patience_ms = self.patience_ms(&self.programs[number]);
        self.queue.push(now_ms + patience_ms, Event::Acts(number));
        let arrives = Event::Arrives(call, request);
        if !self.goes_wrong(100) {
            let at_ms = now_ms + self.random.between(1, 200);
            self.queue.push(at_ms, arrives.clone());
        }
        if self.goes_wrong(100) {
            let at_ms = now_ms + self.random.between(200, 20_000);
            self.queue.push(at_ms, arrives);
        }
    }

    fn goes_wrong(&mut self, per_mille: u32) -> bool {
        self.random.chance(per_mille) && self.now_ms < FAULTS_END_MS
    }

    fn arrive(&mut self, call: u64, request: Request) -> Result<(), Failed<LockOracle>> {
        let clock_ms = self.clock_ms();
        if let Request::Acquire { asker, .. } = request {
            self.first.entry(asker).or_insert(self.now_ms);
            self.since.insert(asker, self.now_ms);
        }
        let answers = self.object.hear(clock_ms, call, request);
        self.answer(answers)
    }

    fn answer(&mut self, answers: Vec<(u64, Answer)>) -> Result<(), Failed<LockOracle>> {
        if self.bug == Some(LockBug::RowAfterAnswer) {
            self.queue.push(self.now_ms + 400, Event::Stored);
        }
        self.judge()?;
        for (call, answer) in answers {
            let to = self
                .programs
                .iter()
                .position(|program| program.call.is_some_and(|(own, _)| own == call));
            if let Some(number) = to
                && !self.goes_wrong(100)
            {
                let at_ms = self.now_ms + self.random.between(1, 200);
                self.queue
                    .push(at_ms, Event::Answered(number, call, answer));
            }
        }
        self.arm();
        Ok(())
    }

    /// Sees to it that the object wakes up when something is due.
    fn arm(&mut self) {
        let clock_ms = self.clock_ms();
        let (Some(next_ms), now_ms) = (self.object.next_ms(), self.object.now_ms(clock_ms)) else {
            return;
        };
        if self.armed_ms.is_some_and(|armed_ms| armed_ms <= next_ms)
            || self.bug == Some(LockBug::WakeLost)
        {
            return;
        }
        self.armed_ms = Some(next_ms);
        let at_ms = self.now_ms + next_ms.saturating_sub(now_ms).max(1);
        self.queue.push(at_ms, Event::Rings(next_ms));
    }

    fn hear(&mut self, number: usize, call: u64, answer: &Answer) {
        let (program, now_ms) = (self.programs[number].clone(), self.now_ms);
        let Some((_, sent_ms)) = program.call.filter(|(own, _)| *own == call) else {
            return;
        };
        self.programs[number].call = None;
        match (&program.doing, answer) {
            (
                Doing::Asks { .. },
                Answer::Granted {
                    held,
                    expires_in_ms,
                },
            ) => {
                let is_sure = now_ms - sent_ms < TTL_MS / 3
                    && *expires_in_ms >= TTL_MS / 2
                    && *expires_in_ms > HANDOVER_MS;
                let ends_ms = match (is_sure, self.bug) {
                    (_, Some(LockBug::CountedFromAnswer)) => now_ms + expires_in_ms,
                    (true, _) => sent_ms + expires_in_ms,
                    // Not believed in before it is renewed.
                    (false, _) => 0,
                };
                let done_ms = now_ms + self.random.between(100, 20_000);
                self.programs[number].work(held, ends_ms, done_ms);
                match is_sure {
                    true => self.act_in(number, TTL_MS / 3),
                    false => self.send(number, Request::Renew(held.owner)),
                }
            }
            (Doing::Asks { .. }, Answer::Busy(place)) => {
                self.programs[number].doing = Doing::Asks { place: *place };
                match place {
                    Some(place) => self.ask(number, Some(*place)),
                    None => self.act_in(number, 500),
                }
            }
            (Doing::Asks { .. }, Answer::Done) => self.ask_anew(number),
            (
                Doing::Works { done_ms, .. },
                Answer::Granted {
                    held,
                    expires_in_ms,
                },
            ) => {
                let from_ms = match self.bug {
                    Some(LockBug::CountedFromAnswer) => now_ms,
                    _ => sent_ms,
                };
                self.programs[number].work(held, from_ms + expires_in_ms, *done_ms);
                self.act_in(number, TTL_MS / 3);
            }
            (Doing::Works { .. }, Answer::Lost) => {
                self.programs[number].doing = Doing::Rests;
                self.act_in(number, 500);
            }
            (Doing::Releases, _) => self.finish_round(number),
            (doing, answer) => panic!("{doing:?} hears {answer:?}"),
        }
    }
}
