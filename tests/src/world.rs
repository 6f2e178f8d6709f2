//! Draws a world from a seed: who buys, what goes wrong, and when.

use oncegate_core::key::KeyKind;
use oncegate_core::proof::Origin;

use crate::faults::{Chaos, Faults, Hop, Rates};
use crate::model::{Card, DECLINED};
use crate::plant::Plant;
use crate::random::Random;
use crate::simulation::{Failure, Settings, Simulation, Summary};

const RESULT_TTL_MS: u64 = 24 * 60 * 60 * 1_000;

/// Faults and clicks happen within this time.
const LONGEST_STORM_MS: u64 = 240_000;

/// A world of chance.
#[derive(Debug)]
pub struct World {
    seed: u64,
    random: Random,
    plant: Option<Plant>,
}

impl World {
    /// The world of a seed.
    pub fn new(seed: u64) -> Self {
        // Other numbers than those of the run itself, which begins with the same seed.
        let random = Random::new(seed ^ 0x6f6e_6365_6761_7465);
        Self {
            seed,
            random,
            plant: None,
        }
    }

    /// The same world, with a bug.
    #[must_use]
    pub fn with(self, plant: Plant) -> Self {
        Self {
            plant: Some(plant),
            ..self
        }
    }

    /// Lets it happen.
    ///
    /// # Errors
    ///
    /// [`Failure`]: something did not hold.
    pub fn run(mut self) -> Result<Summary, Box<Failure>> {
        let settings = self.settings();
        let faults = self.faults(settings.terms.origin);
        let storm_ms = faults.calm_ms;
        let mut simulation = Simulation::new(self.seed, faults, settings);
        self.people(&mut simulation, storm_ms);
        self.blows(&mut simulation, storm_ms);
        simulation.run_until_quiet()
    }

    fn settings(&mut self) -> Settings {
        const ORIGINS: [Origin; 8] = [
            Origin::Ledger,
            Origin::Ledger,
            Origin::Ledger,
            Origin::Ledger,
            Origin::Ledger,
            Origin::Ledger,
            Origin::None,
            Origin::Read,
        ];
        const KINDS: [KeyKind; 5] = [
            KeyKind::Client,
            KeyKind::Client,
            KeyKind::Client,
            KeyKind::Token,
            KeyKind::Generated,
        ];
        let origin = self.random.pick(&ORIGINS);
        let kind = self.random.pick(&KINDS);
        let mut settings = Settings::new(origin, kind);
        settings.plant = self.plant;
        settings.binds = self.random.chance(400);
        settings.operator = origin != Origin::Ledger && self.random.chance(600);
        settings.terms.finish = origin != Origin::None && self.random.chance(400);
        settings.terms.result_ttl_ms = self.random.pick(&[RESULT_TTL_MS, RESULT_TTL_MS, 20_000]);
        // Version 0.1 knew neither principals nor a gate that finishes.
        settings.rows_are_old =
            !settings.binds && !settings.terms.finish && self.random.chance(300);
        settings
    }

    /// Most faults are absent in most worlds: what happens between two rare faults is seen best
    /// where nothing else happens.
    fn faults(&mut self, origin: Origin) -> Faults {
        let is_ledger = origin == Origin::Ledger;
        let longest_delay_ms = self.random.pick(&[500, 40_000, 1_000_000]);
        let browser = self.hop(longest_delay_ms, true);
        // Without a ledger, no request is under way for longer than `settle_after`.
        let longest_delay_ms = match is_ledger {
            true => longest_delay_ms,
            false => longest_delay_ms.min(500_000),
        };
        // A copy on the way to an origin without a ledger is executed twice, and no gate can help.
        let towards_origin = self.hop(longest_delay_ms, is_ledger);
        Faults {
            browser,
            origin: towards_origin,
            rates: Rates {
                refuse: self.rate(400),
                fail_honestly: self.rate(400),
                fail: self.rate(200),
                slow: self.rate(300),
                drop_after_commit: self.rate(300),
                completion_lost: self.rate(400),
                completion_unheard: self.rate(300),
                completion_late: self.rate(200),
                courier_dies: self.rate(200),
                crash: self.rate(100),
                stream: self.rate(500),
                stream_breaks: self.rate(500),
                stranger: self.rate(400),
            },
            calm_ms: self.random.between(5_000, LONGEST_STORM_MS),
        }
    }

    fn hop(&mut self, longest_delay_ms: u64, may_copy: bool) -> Hop {
        let duplicate = self.rate(300);
        Hop {
            drop: self.rate(250),
            lose_answer: self.rate(300),
            duplicate: if may_copy { duplicate } else { 0 },
            delay: self.rate(250),
            longest_delay_ms,
            bare_status: self.rate(150),
            truncate: self.rate(150),
        }
    }

    fn rate(&mut self, most: u64) -> u32 {
        match self.random.chance(450) {
            true => u32::try_from(self.random.between(10, most)).unwrap_or_default(),
            false => 0,
        }
    }

    fn people(&mut self, simulation: &mut Simulation, storm_ms: u64) {
        for _ in 0..self.customers() {
            let first = self.card();
            let mut other_cards = Vec::new();
            for _ in 0..self.random.between(0, 3) {
                let same = self.random.chance(400);
                other_cards.push(if same { first } else { self.card() });
            }
            let customer = simulation.customer(other_cards);
            for _ in 0..self.random.pick(&[1, 1, 2, 3]) {
                let tab = simulation.tab(customer);
                self.clicks(simulation, tab, first, storm_ms);
            }
        }
    }

    /// Few, mostly: what one meets is then the other one's, and not the crowd's.
    fn customers(&mut self) -> u64 {
        match self.random.chance(20) {
            true => self.random.between(10, 40),
            false => self.random.pick(&[1, 1, 2]),
        }
    }

    fn clicks(&mut self, simulation: &mut Simulation, tab: usize, first: Card, storm_ms: u64) {
        let card = if self.random.chance(800) {
            first
        } else {
            self.card()
        };
        let together = self.random.chance(500);
        let at_ms = if together {
            self.random.between(0, 50)
        } else {
            self.time(storm_ms)
        };
        simulation.click(at_ms, tab, card);
        if self.random.chance(300) {
            let again_ms = self.random.pick(&[1, 60, 700, 15_000, 60_000]);
            simulation.click(at_ms + again_ms, tab, card);
        }
        if self.random.chance(150) {
            let later_ms = self.random.between(1, 30_000);
            simulation.leave(at_ms + later_ms, tab);
        }
        if self.random.chance(300) {
            let later_ms = self.random.between(1, 30_000);
            let same = self.random.chance(700);
            let then = if same { card } else { self.card() };
            simulation.reload(at_ms + later_ms, tab, then);
        }
    }

    fn card(&mut self) -> Card {
        self.random.pick(&[DECLINED, 1, 1, 1, 2, 3])
    }

    fn time(&mut self, storm_ms: u64) -> u64 {
        self.random.between(0, storm_ms)
    }

    fn blows(&mut self, simulation: &mut Simulation, storm_ms: u64) {
        const JUMPS_MS: [i64; 4] = [-120_000, -3_000, 3_000, 120_000];
        for _ in 0..self.random.pick(&[0, 0, 1, 3, 6]) {
            let at_ms = self.early(storm_ms);
            let jump_ms = self.random.pick(&JUMPS_MS);
            let chaos = self.random.pick(&[
                Chaos::CancelAtOrigin,
                Chaos::ClockJumps(jump_ms),
                Chaos::CouriersDie,
                Chaos::Evict,
                Chaos::NewerVersion,
                Chaos::OriginStops,
                Chaos::Replace,
                Chaos::TurnTables,
            ]);
            simulation.strike(at_ms, chaos);
            let ends = match chaos {
                Chaos::NewerVersion => Some(Chaos::NoNewerVersion),
                Chaos::OriginStops => Some(Chaos::OriginStarts),
                _ => None,
            };
            if let Some(end) = ends {
                let down_ms = self.random.between(1, 60_000);
                simulation.strike(at_ms + down_ms, end);
            }
        }
    }

    /// Half of the blows fall while the first requests are under way.
    fn early(&mut self, storm_ms: u64) -> u64 {
        match self.random.chance(500) {
            true => self.random.between(0, 500.min(storm_ms)),
            false => self.time(storm_ms),
        }
    }
}
