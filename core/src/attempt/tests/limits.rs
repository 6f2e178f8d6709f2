//! The limits of an attempt, over many seeds.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

/// Runs an attempt against a server that never gives proof; returns the waits and the end.
fn against_silence(config: Config, seed: u64) -> (Vec<u64>, u32, u64, End) {
    let mut now = 1_000_000;
    let mut waits = Vec::new();
    let mut sends = 0;
    let (mut attempt, mut action) = Attempt::start(now, config, Aim::Submit, true, seed);
    loop {
        let event = match action {
            Action::Send {
                number, timeout_ms, ..
            } => {
                sends = number;
                // Some sends fail at once, some by their timeout, some with a "try again".
                match (seed + u64::from(number)) % 3 {
                    0 => Event::NetworkError,
                    1 => {
                        now += timeout_ms;
                        Event::TimedOut
                    }
                    _ => Event::Answered(bare(503)),
                }
            }
            Action::Cancel { .. } | Action::Look { .. } => {
                unreachable!("nobody has a reason to ask")
            }
            Action::Wait { until_ms, .. } => {
                waits.push(until_ms - now);
                now = until_ms;
                Event::WaitOver
            }
            Action::Finish(end) => return (waits, sends, now, end),
        };
        (attempt, action) = attempt.handle(now, event).unwrap();
    }
}

#[test]
fn the_limits_hold_for_every_seed() {
    for seed in 0..1_000 {
        let config = Config {
            deadline_ms: 1_000 + seed * 97,
            max_sends: 1 + u32::try_from(seed % 20).unwrap(),
            ..CONFIG
        };
        let (waits, sends, ended, end) = against_silence(config, seed);
        assert!(ended <= 1_000_000 + config.deadline_ms, "seed {seed}");
        assert!((1..=config.max_sends).contains(&sends), "seed {seed}");
        assert!(
            waits.iter().all(|wait| *wait <= config.cap_ms),
            "seed {seed}"
        );
        assert!(waits.first().is_none_or(|wait| *wait <= config.base_ms));
        assert!(matches!(end, End::Unknown(_)), "seed {seed}: {end:?}");
    }
}

#[test]
fn one_seed_gives_one_course() {
    for seed in 0..100 {
        assert_eq!(against_silence(CONFIG, seed), against_silence(CONFIG, seed));
    }
    assert_ne!(against_silence(CONFIG, 3), against_silence(CONFIG, 6));
}
