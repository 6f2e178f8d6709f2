//! Fences, the clock, and what is written and read.

use alloc::string::ToString;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

#[test]
fn fences_grow_whatever_the_clock_does_and_however_often_the_object_is_replaced() {
    let mut fences = Fences::default();
    let (mut last, mut stored) = (0, 0);
    for now_ms in [NOW, NOW + 1, NOW + 1, NOW - 3_600_000, 5, NOW] {
        for _ in 0..3 {
            let fence = fences.fence(now_ms).as_u64();
            assert!(fence > last && fence >= now_ms * 1_024);
            last = fence;
            stored = fences.to_store().unwrap_or(stored);
            assert!(stored >= last);
        }
        fences = Fences::restored(stored);
    }
    // A number that a double holds, for two hundred years.
    assert!(last < 1 << 53);
}

#[test]
fn the_bound_is_stored_once_in_ten_seconds() {
    let mut fences = Fences::default();
    let stored = (0..20_000).filter(|ms| {
        fences.fence(NOW + ms);
        fences.to_store().is_some()
    });
    assert_eq!(stored.count(), 2);
}

#[test]
fn time_neither_goes_back_nor_stands_still() {
    let mut clock = Clock::new(NOW, 0);
    assert_eq!(clock.tick(NOW + 10), NOW + 10);
    assert_eq!(clock.tick(NOW - 3_600_000), NOW + 10);
    assert_eq!(clock.tick(NOW - 3_600_000 + 5), NOW + 15);
    assert_eq!(Clock::new(NOW, NOW + 500).tick(NOW + 1), NOW + 501);
}

#[test]
fn a_name_is_written_in_one_way() {
    for name in ["a", "stock:mug-1", "jobs.2026-01-01~x_y", &"n".repeat(128)] {
        assert_eq!(LockName::parse(name).unwrap().as_str(), name);
    }
    for (name, reason) in [
        ("", "needs a name"),
        ("..", "dots alone"),
        ("a/b", "(character 2)"),
        ("a%20b", "(character 2)"),
        ("é", "(character 1)"),
        (&"n".repeat(129), "more than 128"),
    ] {
        let error = LockName::parse(name).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
}

#[test]
fn times_have_bounds() {
    assert_eq!(Ttl::parse(None).unwrap().as_ms(), 30_000);
    for ttl_ms in [0, 999, 3_600_001, u64::MAX] {
        assert_eq!(Ttl::parse(Some(ttl_ms)), Err(TermsError::Ttl));
    }
    assert_eq!(Wait::parse(None).unwrap().as_ms(), 0);
    assert_eq!(Wait::parse(Some(25_001)), Err(TermsError::Wait));
}

#[test]
fn a_place_is_of_use_to_its_holder_for_its_lock_and_for_a_while() {
    let name = |text| LockName::parse(text).unwrap();
    let place = Place {
        ticket: Ticket::since(NOW),
        until_ms: NOW + PLACE_MS,
    };
    let text = place.write(b"secret", &name("a"), asker(1));
    let read = |text: &str, secret: &[u8], of, who, now_ms| {
        Place::read(text, secret, &name(of), asker(who), now_ms)
    };
    assert_eq!(read(&text, b"secret", "a", 1, NOW), Some(place));
    assert_eq!(read(&text, b"other", "a", 1, NOW), None);
    assert_eq!(read(&text, b"secret", "b", 1, NOW), None);
    assert_eq!(read(&text, b"secret", "a", 2, NOW), None);
    assert_eq!(read(&text, b"secret", "a", 1, NOW + PLACE_MS), None);
    let forged = text.replacen("p1.1", "p1.0", 1);
    assert_eq!(read(&forged, b"secret", "a", 1, NOW), None);
    for wrong in ["", ".", "p1", "p1.1.2", &text[1..]] {
        assert_eq!(read(wrong, b"secret", "a", 1, NOW), None);
    }
}

#[test]
fn an_owner_is_not_printed() {
    let owner = Owner::new([7; 16]);
    assert_eq!(Owner::parse(&owner.to_text()), Some(owner));
    assert_eq!(alloc::format!("{owner:?}"), "Owner(…)");
    assert_eq!(Owner::parse("07"), None);
}
