#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

#[track_caller]
fn pattern(text: &str) -> Pattern {
    Pattern::parse(text, Case::Ignored).unwrap()
}

#[test]
fn a_pattern_matches_whole_paths() {
    assert!(pattern("/orders").matches("/orders"));
    for path in ["/orders/", "/orders/1", "/order", "orders", "/ORDERS", ""] {
        assert!(!pattern("/orders").matches(path), "{path}");
    }
    assert!(pattern("/orders/:id/pay").matches("/orders/42/pay"));
    assert!(!pattern("/orders/:id/pay").matches("/orders//pay"));
    assert!(pattern("/hooks/*").matches("/hooks/a/b"));
    assert!(!pattern("/hooks/*").matches("/hooks"));
}

#[test]
fn k5_spellings_that_an_origin_may_read_as_the_same_path() {
    for path in [
        "/orders",
        "/orders/",
        "//orders",
        "/./orders",
        "/x/../orders",
        "/%6Frders",
        "/%6frders",
        "/orders;v=1",
        "/x/%2e%2e/orders",
        "/x%2F..%2forders",
        "/orders%2f",
        "\\orders",
        "/%256Frders",
        "/orders/.",
        "/orders%3Bv",
    ] {
        assert_eq!(canonical(path), "/orders", "{path}");
    }
    for path in ["/orders/1", "/orders%20", "/Orders"] {
        assert_ne!(canonical(path), "/orders", "{path}");
    }
}

#[test]
fn k5_what_only_a_lenient_origin_reads_as_the_path() {
    for (text, path) in [
        ("/orders", "/Orders"),
        ("/orders", "/orders%00"),
        ("/orders", "/%4Frders/%2e"),
        ("/pay@now", "/pay%40now"),
        ("/caf%C3%A9", "/caf%c3%a9"),
        ("/caf%C3%A9", "/caf\u{e9}"),
        ("/hooks/*", "/HOOKS/a"),
    ] {
        assert!(
            pattern(text).may_match(&Readings::of(path)),
            "{text} {path}"
        );
        assert!(!pattern(text).matches(path), "{text} {path}");
    }
    assert!(!pattern("/orders").may_match(&Readings::of("/orders/1")));
    assert!(!pattern("/orders").may_match(&Readings::of("/order")));
}

#[test]
fn overlaps_are_found() {
    for (one, two) in [
        ("/a", "/a"),
        ("/a/:x", "/a/b"),
        ("/a/*", "/a/b/c"),
        ("/:x/b", "/a/:y"),
    ] {
        assert!(pattern(one).overlaps(&pattern(two)), "{one} {two}");
        assert!(pattern(two).overlaps(&pattern(one)), "{two} {one}");
    }
    for (one, two) in [
        ("/a", "/b"),
        ("/a", "/a/b"),
        ("/a/:x", "/b/:x"),
        ("/a/b", "/a/c"),
    ] {
        assert!(!pattern(one).overlaps(&pattern(two)), "{one} {two}");
    }
}

#[test]
fn k5_a_pattern_with_a_slash_at_its_end_matches_paths_with_one() {
    let orders = pattern("/orders/");
    assert!(orders.is_exactly("/orders/"));
    assert!(pattern("/orders/:id/").is_exactly("/orders/42/"));
    for path in ["/orders", "/orders//", "/orders/.", "/Orders/", "//orders/"] {
        assert!(!orders.is_exactly(path), "{path}");
        assert!(orders.may_match(&Readings::of(path)), "{path}");
    }
    assert!(!orders.may_match(&Readings::of("/orders/42/")));
    assert!(orders.overlaps(&pattern("/orders")));
    assert!(!orders.covers(&pattern("/orders")) && orders.covers(&pattern("/orders/")));
    let (below, one) = (pattern("/orders/*"), pattern("/orders/:id"));
    assert!(below.overlaps(&orders) && orders.overlaps(&below) && below.covers(&orders));
    assert!(!one.overlaps(&orders) && !orders.overlaps(&one) && !one.covers(&orders));
}

#[test]
fn k5_what_ends_with_a_slash_is_below_it() {
    let hooks = pattern("/hooks/*");
    for path in [
        "/hooks/",
        "/HOOKS//",
        "/hooks/.",
        "/hooks%2f",
        "/hooks/a/..",
        "/hooks/;a",
    ] {
        assert!(hooks.may_match(&Readings::of(path)), "{path}");
        assert!(!hooks.is_exactly(path), "{path}");
    }
    assert!(!hooks.may_match(&Readings::of("/hooks")));
    assert!(!pattern("/hooks/:id").may_match(&Readings::of("/hooks/")));
}

#[test]
fn k5_where_case_counts_another_case_is_another_path() {
    let exact = |text| Pattern::parse(text, Case::Counts).unwrap();
    assert!(!exact("/orders").may_match(&Readings::of("/Orders")));
    assert!(exact("/Orders").matches("/Orders"));
    assert!(exact("/orders").may_match(&Readings::of("/orders/")));
    assert!(!exact("/a").overlaps(&exact("/A")));
    assert!(exact("/a").overlaps(&pattern("/A")) && pattern("/A").overlaps(&exact("/a")));
}

#[test]
fn a_pattern_covers_what_it_matches_more_of() {
    for (one, two) in [
        ("/*", "/a/:b"),
        ("/a/*", "/a/b"),
        ("/a/*", "/a/b/*"),
        ("/:x", "/a"),
    ] {
        assert!(pattern(one).covers(&pattern(two)), "{one} {two}");
        assert!(!pattern(two).covers(&pattern(one)), "{two} {one}");
    }
    assert!(pattern("/a/:x").covers(&pattern("/a/:y")));
    assert!(!pattern("/a").covers(&pattern("/a/b")));
    assert!(pattern("/*").is_everything() && !pattern("/:a").is_everything());
}

#[test]
fn a_pattern_is_canonical() {
    for text in [
        "orders",
        "/orders//",
        "/a//b",
        "/a/../b",
        "/a;b",
        "/*/a",
        "/a/*/",
    ] {
        assert!(Pattern::parse(text, Case::Ignored).is_err(), "{text}");
    }
}
