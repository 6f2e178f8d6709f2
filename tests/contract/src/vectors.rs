//! The vectors of tests/vectors: what every build of the core must answer alike, natively, in workerd and in a browser.
//!
//! Invariant: nothing is decided here; a question is handed to the core, and its answer written down. The SDK's own
//! encodings are asked by `sdk/tests/vectors.test.mjs`.

use oncegate_core::attempt::budget::Budget;
use oncegate_core::attempt::flow::{Act, Flow, Moment, Order, Step, Wish};
use oncegate_core::attempt::record::{Naming, Record};
use oncegate_core::attempt::{Answer, Config, End, Event, Problem};
use oncegate_core::backoff::Backoff;
use oncegate_core::fingerprint::{Fingerprint, Parts, body_sha256};
use oncegate_core::intent::{InstallSecret, PayloadDigest};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::retry_after::{http_date, wait_ms};
use serde_json::{Value, json};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The answer to one vector of a file, as JSON.
pub fn answer(file: &str, vector: &str) -> String {
    let given: Value = serde_json::from_str(vector).expect("a vector is JSON");
    let answer = match file {
        "answers" => json!(what_follows(&given)),
        "backoff" => json!(waits(&given)),
        "fingerprints" => json!(fingerprint(&given)),
        "keys" => json!(key(&given)),
        "payloads" => json!(digest(&given)),
        "retry-after" => json!(asked_wait(&given)),
        other => panic!("nobody knows how to answer {other}"),
    };
    answer.to_string()
}

fn text<'a>(given: &'a Value, name: &str) -> &'a str {
    given[name].as_str().unwrap_or_default()
}

fn number(given: &Value, name: &str) -> u64 {
    given[name].as_u64().unwrap_or_default()
}

fn secret(given: &Value) -> InstallSecret {
    InstallSecret::parse(text(given, "secret")).expect("64 digits")
}

fn bytes(digits: &str) -> Vec<u8> {
    let byte = |place| u8::from_str_radix(&digits[place..place + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn key(given: &Value) -> String {
    let key = secret(given).key(text(given, "intent"), number(given, "epoch"));
    key.as_str().to_owned()
}

fn digest(given: &Value) -> String {
    let mut digest = PayloadDigest::new(&secret(given));
    for part in given["parts"].as_array().into_iter().flatten() {
        let part = bytes(part.as_str().unwrap_or_default());
        digest.begin_part(part.len() as u64);
        digest.update(&part);
    }
    digest.finish()
}

fn fingerprint(given: &Value) -> String {
    let parts = Parts {
        method: text(given, "method"),
        path_and_query: text(given, "path_and_query"),
        content_type: text(given, "content_type"),
        content_encoding: text(given, "content_encoding"),
        body_sha256: body_sha256(&bytes(text(given, "body"))),
    };
    Fingerprint::of(&parts).to_string()
}

fn waits(given: &Value) -> Vec<u64> {
    let length = given["expected"].as_array().map_or(0, Vec::len);
    let (base_ms, cap_ms) = (number(given, "base_ms"), number(given, "cap_ms"));
    Backoff::new(base_ms, cap_ms, number(given, "seed"))
        .take(length)
        .collect()
}

fn asked_wait(given: &Value) -> Option<u64> {
    let sent_ms = http_date(text(given, "date"), 0).expect("the date of an answer");
    wait_ms(text(given, "value"), sent_ms)
}

/// What the client does after this answer to its first send; after a wait, what it waits for.
fn what_follows(given: &Value) -> String {
    let mut budget = Budget::default();
    let (flow, sent) = Flow::start(order(given), moment(0, &None, &mut budget));
    let stored = sent.write.clone();
    let event = Event::Answered(read(given));
    let (flow, step) = flow
        .next(event, lifetime_ms(given), moment(1, &stored, &mut budget))
        .expect("a send is answered");
    let Act::Wait { until_ms, .. } = step.act else {
        return name(&step);
    };
    let stored = step.write.clone().or(stored);
    let (_, next) = flow
        .next(
            Event::WaitOver,
            None,
            moment(until_ms, &stored, &mut budget),
        )
        .expect("a wait ends");
    format!("wait {}", name(&next))
}

fn moment<'a>(now_ms: u64, stored: &Option<Record>, budget: &'a mut Budget) -> Moment<'a> {
    Moment {
        now_ms,
        wall_ms: now_ms,
        stored: stored.clone(),
        budget,
    }
}

fn order(given: &Value) -> Order {
    Order {
        wish: Wish::Submit,
        naming: Naming::Derived {
            secret: InstallSecret::from_random([7; 32]),
            intent: "cart-42".to_owned(),
        },
        digest: "00000000".to_owned(),
        proven: given["proven"] == true,
        config: Config {
            base_ms: 300,
            cap_ms: 10_000,
            attempt_timeout_ms: DAY_MS,
            deadline_ms: DAY_MS,
            max_sends: 12,
        },
        seed: 1,
    }
}

fn read(given: &Value) -> Answer {
    let problem = &given["problem"];
    let status = given["status"]
        .as_str()
        .map(|word| Status::parse(word).unwrap_or(Status::Unknown));
    let is_gates_own = problem["safe_new_key"].is_boolean();
    Answer {
        http_status: u16::try_from(number(given, "http")).expect("a status"),
        redirected: given["redirected"] == true,
        unnamed: given["unnamed"] == true,
        status,
        retry_after_ms: None,
        gate: status.is_some() || lifetime_ms(given).is_some() || is_gates_own,
        problem: Problem {
            key_reused: problem["code"] == "key_reused",
            state: problem["state"].as_str().and_then(Outcome::parse),
            safe_new_key: problem["safe_new_key"] == true,
            retryable: problem["retryable"].as_bool(),
        },
    }
}

fn lifetime_ms(given: &Value) -> Option<u64> {
    let seconds: u64 = given["lifetime"].as_str()?.parse().ok()?;
    Some(seconds * 1_000)
}

fn name(step: &Step) -> String {
    let flag = |is, word| if is { word } else { "" };
    match step.act {
        Act::Cancel { .. } => "cancel".to_owned(),
        Act::Look { .. } => "lookup".to_owned(),
        Act::Send { .. } => "send".to_owned(),
        Act::Wait { .. } => "wait".to_owned(),
        Act::Finish { end, .. } => match end {
            End::Done { replayed, changed } => [
                "done",
                flag(replayed, " replayed"),
                flag(changed, " changed"),
            ]
            .concat(),
            End::Failed(reason) => format!("failed {}", reason.as_str()),
            End::Unknown(why) => format!("unknown {}", why.as_str()),
        },
    }
}
