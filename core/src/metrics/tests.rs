use alloc::borrow::ToOwned;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

fn decision(route: &str, decision: &str) -> Decision {
    Decision {
        route: route.to_owned(),
        mode: "enforce".to_owned(),
        decision: decision.to_owned(),
        state: "executed".to_owned(),
    }
}

fn text(metrics: &Metrics) -> String {
    let mut page = Exposition::default();
    metrics.write(&mut page);
    page.into_text()
}

fn samples<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let of = |line: &&str| line.split(['{', ' ']).next() == Some(name);
    text.lines().filter(of).collect()
}

#[test]
fn a_duration_counts_at_every_bound_that_it_does_not_exceed() {
    let mut metrics = Metrics::default();
    for took_ms in [0, 5, 6, 20_000, 20_001] {
        metrics.decided(decision("pay", "dispatched"), took_ms);
    }
    let text = text(&metrics);
    let labels = "route=\"pay\",mode=\"enforce\",decision=\"dispatched\",state=\"executed\"";
    let line =
        |name: &str, more: &str, value: &str| [name, "{", labels, more, "} ", value].concat();
    let buckets = samples(&text, "oncegate_decision_seconds_bucket");
    assert_eq!(buckets.len(), 13);
    for (bound, count) in [
        ("0.005", "2"),
        ("0.01", "3"),
        ("10", "3"),
        ("20", "4"),
        ("+Inf", "5"),
    ] {
        let more = [",le=\"", bound, "\""].concat();
        let bucket = line("oncegate_decision_seconds_bucket", &more, count);
        assert!(buckets.contains(&bucket.as_str()), "{bucket}");
    }
    assert!(text.contains(&line("oncegate_decision_seconds_sum", "", "40.012")));
    assert!(text.contains(&line("oncegate_decision_seconds_count", "", "5")));
    assert!(text.contains(&line("oncegate_decisions_total", "", "5")));
}

#[test]
fn a_sum_is_written_exactly() {
    let mut metrics = Metrics::default();
    metrics.decided(decision("pay", "replayed"), 1_007);
    assert!(samples(&text(&metrics), "oncegate_decision_seconds_sum")[0].ends_with(" 1.007"));
}

#[test]
fn adding_up_is_the_same_in_any_order() {
    let of = |route: &str, shard, rows| {
        let mut metrics = Metrics::default();
        metrics.decided(decision(route, "dispatched"), 7);
        metrics.shard_called(shard, ShardCall::Answered);
        metrics.shard_called(shard, ShardCall::TimedOut);
        metrics.rows_written(rows);
        metrics.report_lost();
        metrics
    };
    let (a, b) = (of("pay", 1, 2), of("refund", 2, 3));
    let (mut ab, mut ba) = (a.clone(), b.clone());
    ab.merge(b);
    ba.merge(a.clone());
    assert_eq!(ab, ba);
    ab.merge(a);
    let text = text(&ab);
    assert_eq!(
        samples(&text, "oncegate_rows_written_total"),
        ["oncegate_rows_written_total 7"]
    );
    assert_eq!(
        samples(&text, "oncegate_reports_lost_total"),
        ["oncegate_reports_lost_total 3"]
    );
    assert_eq!(
        samples(&text, "oncegate_shard_calls_total"),
        [
            "oncegate_shard_calls_total{ended=\"answered\"} 3",
            "oncegate_shard_calls_total{ended=\"timed_out\"} 3",
        ]
    );
    assert!(samples(&text, "oncegate_decisions_total")[0].ends_with(" 2"));
}

#[test]
fn only_the_busiest_shards_are_named() {
    let mut metrics = Metrics::default();
    for shard in 0..20 {
        for _ in 0..=shard {
            metrics.shard_called(shard, ShardCall::Answered);
        }
    }
    let text = text(&metrics);
    let busiest = samples(&text, "oncegate_busiest_shard_calls_total");
    assert_eq!(busiest.len(), 10);
    assert_eq!(
        busiest[0],
        "oncegate_busiest_shard_calls_total{shard=\"19\"} 20"
    );
}

#[test]
fn a_name_cannot_break_out_of_its_label() {
    let mut metrics = Metrics::default();
    metrics.decided(decision("a\"} 1\nevil{b=\"\\", "dispatched"), 1);
    let text = text(&metrics);
    assert!(text.contains("route=\"a\\\"} 1\\nevil{b=\\\"\\\\\","));
    assert!(
        text.lines()
            .all(|line| line.starts_with("oncegate_") || line.starts_with("# "))
    );
}

#[test]
fn every_family_says_what_it_is_before_its_samples() {
    let mut metrics = Metrics::default();
    metrics.decided(decision("pay", "dispatched"), 1);
    let mut page = Exposition::default();
    page.gauge("oncegate_trouble", "Operations in trouble.");
    page.sample(&[("state", "held")], 3);
    metrics.write(&mut page);
    let text = page.into_text();
    assert!(text.starts_with(
        "# HELP oncegate_trouble Operations in trouble.\n# TYPE oncegate_trouble gauge\noncegate_trouble{state=\"held\"} 3\n"
    ));
    for (name, kind) in [
        ("oncegate_decisions_total", "counter"),
        ("oncegate_decision_seconds", "histogram"),
        ("oncegate_rows_written_total", "counter"),
    ] {
        let kind = ["# TYPE ", name, " ", kind, "\n"].concat();
        assert_eq!(text.matches(&kind).count(), 1, "{kind}");
    }
}

#[test]
fn counts_arrive_as_they_were_sent() {
    let mut metrics = Metrics::default();
    metrics.decided(decision("pay", "dispatched"), 3);
    metrics.shard_called(1023, ShardCall::Overloaded);
    let sent = serde_json::to_string(&metrics).unwrap();
    assert_eq!(serde_json::from_str::<Metrics>(&sent).unwrap(), metrics);
    // What a version without these counts has stored.
    assert_eq!(
        serde_json::from_str::<Metrics>("{}").unwrap(),
        Metrics::default()
    );
}
