//! Jobs that run by the clock: which of their slots is due, and under which key.
//!
//! Invariant: a slot, that is a job and a minute, is one key. It is run once however often it fires; what
//! lies before the job's first slot, or so far back that its record may be forgotten, is never begun.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;

use crate::fingerprint::{Fingerprint, Parts};
use crate::key::Key;
use crate::operation::State;
use crate::policy::{Match, Policy, Route};
use crate::webhook::date;

const MINUTE_MS: u64 = 60_000;

/// How many slots back a firing looks at least: what an earlier one has begun is not left behind.
const LOOKS_BACK: u64 = 3;

/// The most missed slots that one firing may begin: it has a quarter of an hour.
const MOST_CAUGHT_UP: u64 = 24;

/// A year, so that sums of times stay small.
const LONGEST_INTERVAL_MINUTES: u64 = 366 * 24 * 60;

const LONGEST_NAME: usize = 64;

/// A job, as written in the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct JobConfig {
    /// A name for keys, logs and errors.
    pub name: String,
    /// The cron expression whose firings are this job's, as it is written under `[triggers]`.
    pub trigger: String,
    /// How far apart two slots are.
    pub every_minutes: u64,
    /// The first slot there is.
    pub since: String,
    /// The method of the call.
    pub method: String,
    /// The path of a protected route.
    pub path: String,
    /// How many missed slots a firing begins at most; 0.
    #[serde(default)]
    pub catch_up: u64,
}

/// A job, checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Job {
    /// Its name.
    pub name: Name,
    /// The cron expression whose firings are this job's.
    pub trigger: String,
    /// The method of the call.
    pub method: String,
    /// The path of the call.
    pub path: String,
    /// The name of the route that it is.
    pub route: String,
    every_ms: u64,
    since: Slot,
    catch_up: u64,
    /// How long a slot is known after it is settled.
    known_ms: u64,
}

/// The name of a job or of a deliberate run: 1 to 64 letters, digits, `-`, `_` and `.`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

/// A minute at which a job is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u64);

/// A slot before the one that fires, as far as a firing looks back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Earlier {
    /// Which one.
    pub slot: Slot,
    /// Whether it is begun if nothing of it has happened.
    catches_up: bool,
}

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// A sentence that says what a name is.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_name) {
            true => Ok(Self(text.into())),
            false => Err("has 1 to 64 letters, digits, '-', '_' and '.'"),
        }
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Slot {
    /// The minute in which this instant lies.
    pub fn of_ms(at_ms: u64) -> Self {
        Self(at_ms - at_ms % MINUTE_MS)
    }

    /// Reads a minute in UTC, `2026-11-30T03:00Z`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let minute = text.strip_suffix('Z').filter(|text| text.contains('T'))?;
        let (at_ms, _) = date::span_ms(&format!("{minute}:00Z"))?;
        Some(Self(at_ms))
    }

    /// When it begins.
    pub fn at_ms(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0 / MINUTE_MS;
        let [year, month, day] = date::of_day(minutes / (24 * 60));
        let (hour, minute) = (minutes / 60 % 24, minutes % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}Z")
    }
}

impl Earlier {
    /// Whether a firing runs it, by what is known of it: what is unsettled or had no effect is gone on
    /// with, what was missed is begun if the job catches up.
    pub fn is_due(self, known: Option<State>) -> bool {
        match known {
            None => self.catches_up,
            Some(State::Dispatched | State::Released | State::Unknown) => true,
            Some(State::Cancelled | State::Executed | State::Refused) => false,
        }
    }
}

impl Job {
    fn new(config: &JobConfig, policy: &Policy) -> Result<Self, String> {
        let wrong = |field: &str, reason: &str| format!("job '{}': {field} {reason}", config.name);
        let route = route(config, policy).map_err(|(field, reason)| wrong(field, reason))?;
        if !(1..=LONGEST_INTERVAL_MINUTES).contains(&config.every_minutes) {
            return Err(wrong("every_minutes", "must be 1 to 527040, a year"));
        }
        let every_ms = config.every_minutes * MINUTE_MS;
        let known_ms = route.terms.key_ttl_ms;
        if config.catch_up > MOST_CAUGHT_UP {
            return Err(wrong("catch_up", "is over 24"));
        }
        if config.catch_up > 0 && (config.catch_up + 1) * every_ms > known_ms {
            let reason = "reaches further back than the route's key_ttl_s: a slot that was run would be run again";
            return Err(wrong("catch_up", reason));
        }
        let since = Slot::parse(&config.since);
        Ok(Self {
            name: Name::parse(&config.name).map_err(|reason| wrong("name", reason))?,
            since: since
                .ok_or_else(|| wrong("since", "must be a minute in UTC: 2026-11-30T03:00Z"))?,
            trigger: config.trigger.clone(),
            method: config.method.clone(),
            path: config.path.clone(),
            route: route.name.clone(),
            catch_up: config.catch_up,
            every_ms,
            known_ms,
        })
    }

    /// Whether a firing may run this slot: it is the job's, and if it was run, that is still known.
    pub fn takes(&self, slot: Slot, now_ms: u64) -> bool {
        slot >= self.since && now_ms < slot.0 + self.known_ms
    }

    /// The slots before `slot` that a firing looks at, the oldest first.
    pub fn before(&self, slot: Slot, now_ms: u64) -> Vec<Earlier> {
        let back = (1..=self.catch_up.max(LOOKS_BACK)).rev();
        let earlier = back.filter_map(|steps| {
            let slot = Slot(slot.0.checked_sub(steps * self.every_ms)?);
            let catches_up = steps <= self.catch_up;
            Some(Earlier { slot, catches_up })
        });
        earlier
            .filter(|earlier| self.takes(earlier.slot, now_ms))
            .collect()
    }

    /// The key of a slot, or of a deliberate run of it.
    pub fn key(&self, slot: Slot, run: Option<&Name>) -> Key {
        let name = self.name.as_str();
        let key = match run {
            None => format!("cron:{name}:{slot}"),
            Some(run) => format!("cron:{name}:{slot}:{}", run.as_str()),
        };
        Key::from_value(&key).expect("names and minutes are of a key's letters, and short")
    }

    /// Every attempt of a slot asks for the same thing: it is known by its key.
    pub fn fingerprint() -> Fingerprint {
        Fingerprint::of(&Parts {
            method: "",
            path_and_query: "cron",
            content_type: "",
            content_encoding: "",
            body_sha256: [0; 32],
        })
    }
}

/// The route that a job calls.
fn route<'p>(
    config: &JobConfig,
    policy: &'p Policy,
) -> Result<&'p Route, (&'static str, &'static str)> {
    if config.path.contains(['?', '#']) {
        return Err(("path", "has no query: what a slot is, its body says"));
    }
    match policy.find(&config.method, &config.path, false) {
        Match::Protected(route) if route.webhook.is_some() => {
            Err(("path", "is a webhook's: its sender calls it"))
        }
        Match::Protected(route) if route.token_ttl_ms.is_some() => {
            Err(("path", "takes tokens only: the slot is the key"))
        }
        Match::Protected(route) => Ok(route),
        Match::OtherMethod(_) => Err(("method", "is none that a route protects at this path")),
        Match::NotCanonical(_) | Match::Unprotected => Err((
            "path",
            "is no protected route's: such a call could run twice",
        )),
    }
}

/// Checks the jobs, each and against each other.
///
/// # Errors
///
/// A sentence that names the job and the field.
pub fn jobs(configs: &[JobConfig], policy: &Policy) -> Result<Vec<Job>, String> {
    let jobs = configs.iter().map(|config| Job::new(config, policy));
    let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    match jobs.iter().find(|job| !names.insert(&job.name)) {
        Some(twice) => Err(format!(
            "job '{}': name is an earlier job's",
            twice.name.as_str()
        )),
        None => Ok(jobs),
    }
}

#[cfg(test)]
mod tests;
