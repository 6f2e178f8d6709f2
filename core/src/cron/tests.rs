#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

fn policy() -> Policy {
    let routes = serde_json::json!([
        { "name": "nightly", "methods": ["POST"], "path": "/jobs/nightly", "origin": "ledger" },
        { "name": "tokened", "methods": ["POST"], "path": "/tokened", "origin": "ledger", "token": "required" },
    ]);
    Policy::new(&serde_json::from_value::<Vec<_>>(routes).unwrap(), false).unwrap()
}

fn config() -> JobConfig {
    JobConfig {
        name: "nightly".into(),
        trigger: "0 3 * * *".into(),
        every_minutes: 24 * 60,
        since: "2026-11-01T03:00Z".into(),
        method: "POST".into(),
        path: "/jobs/nightly".into(),
        catch_up: 0,
    }
}

fn job(change: impl Fn(&mut JobConfig)) -> Result<Job, String> {
    let mut config = config();
    change(&mut config);
    jobs(&[config], &policy()).map(|mut jobs| jobs.remove(0))
}

fn slot(text: &str) -> Slot {
    Slot::parse(text).unwrap()
}

#[test]
fn a_slot_is_a_minute_in_utc() {
    for text in [
        "1970-01-01T00:00Z",
        "2024-02-29T23:59Z",
        "2026-11-30T03:00Z",
        "2100-03-01T12:34Z",
    ] {
        assert_eq!(format!("{}", slot(text)), text);
        assert_eq!(Slot::of_ms(slot(text).at_ms() + 59_999), slot(text));
    }
    for text in [
        "",
        "2026-11-30",
        "2026-11-30Z",
        "2026-11-30T03:00",
        "2026-11-30T03:00:00Z",
        "2026-02-29T03:00Z",
        "2026-11-30T24:00Z",
    ] {
        assert_eq!(Slot::parse(text), None, "{text}");
    }
}

#[test]
fn a_slot_is_a_key_and_a_deliberate_run_another() {
    let job = job(|_| ()).unwrap();
    let slot = slot("2026-11-30T03:00Z");
    let key = job.key(slot, None);
    assert_eq!(key.as_str(), "cron:nightly:2026-11-30T03:00Z");
    assert_eq!(key.to_header(), key.as_str());
    let run = Name::parse("after-the-fix").unwrap();
    let again = job.key(slot, Some(&run));
    assert_eq!(
        again.as_str(),
        "cron:nightly:2026-11-30T03:00Z:after-the-fix"
    );
    let longest = Name::parse(&"n".repeat(64)).unwrap();
    assert!(job.key(slot, Some(&longest)).as_str().len() < crate::key::MAX_LENGTH);
    for text in ["", "a b", "a:b", "ä", &"n".repeat(65)] {
        assert!(Name::parse(text).is_err(), "{text}");
    }
}

#[test]
fn what_was_begun_is_gone_on_with_and_what_was_missed_is_skipped() {
    let job = job(|_| ()).unwrap();
    let now = slot("2026-11-30T03:00Z");
    let before = job.before(now, now.at_ms());
    let slots: Vec<_> = before
        .iter()
        .map(|earlier| format!("{}", earlier.slot))
        .collect();
    assert_eq!(
        slots,
        [
            "2026-11-27T03:00Z",
            "2026-11-28T03:00Z",
            "2026-11-29T03:00Z"
        ]
    );
    for earlier in before {
        assert!(!earlier.is_due(None));
        for state in [State::Dispatched, State::Released, State::Unknown] {
            assert!(earlier.is_due(Some(state)));
        }
        for state in [State::Cancelled, State::Executed, State::Refused] {
            assert!(!earlier.is_due(Some(state)));
        }
    }
}

#[test]
fn as_many_missed_slots_are_begun_as_the_job_catches_up() {
    let now = slot("2026-11-30T03:00Z");
    for (catch_up, looks) in [(2, 3), (5, 5)] {
        let job = job(|config| config.catch_up = catch_up).unwrap();
        let before = job.before(now, now.at_ms());
        let begun: Vec<_> = before
            .iter()
            .filter(|earlier| earlier.is_due(None))
            .collect();
        assert_eq!((before.len(), begun.len() as u64), (looks, catch_up));
        assert_eq!(begun.last().unwrap().slot, slot("2026-11-29T03:00Z"));
    }
}

#[test]
fn nothing_is_run_from_before_the_first_slot_or_that_may_be_forgotten() {
    let job = job(|config| config.catch_up = 3).unwrap();
    let second = slot("2026-11-02T03:00Z");
    let before = job.before(second, second.at_ms());
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].slot, slot("2026-11-01T03:00Z"));
    assert!(!job.takes(slot("2026-11-01T02:59Z"), second.at_ms()));
    // Seven days after a slot its record may be gone: a firing that late begins nothing.
    assert!(job.takes(second, second.at_ms() + 7 * DAY_MS - 1));
    assert!(!job.takes(second, second.at_ms() + 7 * DAY_MS));
}

#[test]
fn an_error_names_job_and_field() {
    type Change = fn(&mut JobConfig);
    let cases: [(Change, &str); 9] = [
        (|config| config.name = "a b".into(), "job 'a b': name has"),
        (|config| config.since = "2026-11-01".into(), "since must be"),
        (|config| config.every_minutes = 0, "every_minutes must be"),
        (|config| config.catch_up = 25, "catch_up is over 24"),
        (|config| config.catch_up = 7, "catch_up reaches further"),
        (
            |config| config.path = "/elsewhere".into(),
            "path is no protected",
        ),
        (
            |config| config.path = "/jobs/nightly?a".into(),
            "path has no query",
        ),
        (
            |config| config.path = "/tokened".into(),
            "path takes tokens",
        ),
        (
            |config| config.method = "PUT".into(),
            "job 'nightly': method is none",
        ),
    ];
    for (change, said) in cases {
        let error = job(change).unwrap_err();
        assert!(
            error.starts_with("job '") && error.contains(said),
            "{error}"
        );
    }
    let error = jobs(&[config(), config()], &policy()).unwrap_err();
    assert_eq!(error, "job 'nightly': name is an earlier job's");
}
