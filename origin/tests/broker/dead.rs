//! Messages that nobody can work off: kept, told, shown, replayed in order.

use std::time::Duration;

use async_nats::HeaderMap;
use oncegate_origin::broker::{Broker, Limits};
use oncegate_origin::sql::{Database, Dialect};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::World;
use crate::books::with_database;
use crate::shop::until;

const LETTERS: &str = "SELECT count(*) FROM dead_letters";

impl World {
    /// A consumer in this process, with limits of the test's own.
    async fn consume(&self, limits: Limits) -> JoinHandle<()> {
        let (database, broker) = (self.books.url(), self.url());
        with_database!(self.books.kind(), DB => tokio::spawn(consume::<DB>(database, broker, limits)))
    }

    async fn until_letters(&self, letters: i64) {
        until(async || self.books.number(LETTERS).await == letters).await;
    }

    fn reasons(&self) -> Vec<String> {
        let lines = self.ask(&["dead-letters", "list"]);
        let reason = |line| serde_json::from_str::<Value>(line).unwrap()["reason"].clone();
        lines
            .lines()
            .map(|line| reason(line).as_str().unwrap().to_owned())
            .collect()
    }
}

async fn consume<DB: Dialect>(database: String, broker: String, limits: Limits) {
    let database = Database::<DB>::open(&database).await.unwrap();
    let broker = Broker::connect(&broker).await.unwrap();
    broker.consume(&database, limits, None).await.unwrap();
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_kept_and_holds_up_no_other() {
    let world = World::with_messages(0).await;
    let _broker = world.start_broker().await;
    let _consumer = world.run("consume");
    let jetstream = world.jetstream().await;
    until(async || jetstream.get_stream("oncegate-shop").await.is_ok()).await;
    let good = br#"{"order":"o","status":"PAID"}"#.as_slice();
    for (id, topic, payload) in [
        (None, "notice", good),
        (Some("text"), "notice", b"\xff".as_slice()),
        (Some("json"), "notice", b"{".as_slice()),
        (Some("topic"), "nobody", good),
        (Some(&"x".repeat(300)), "notice", good),
        (Some("good"), "notice", good),
    ] {
        let mut headers = HeaderMap::new();
        if let Some(id) = id {
            headers.insert("Nats-Msg-Id", id);
        }
        let subject = format!("shop.{topic}");
        // Nobody hears it yet where the broker has the stream since a moment ago.
        until(async || {
            let (subject, headers) = (subject.clone(), headers.clone());
            let sent = jetstream.publish_with_headers(subject, headers, payload.into());
            sent.await.unwrap().await.is_ok()
        })
        .await;
    }
    world.until_done(1).await;
    let reasons = world.reasons();
    let told = std::fs::read_to_string(world.log("consume")).unwrap();
    assert_eq!(
        (reasons.len(), told.matches("\"alarm\"").count()),
        (5, 5),
        "{told}"
    );
    for (reason, begins) in reasons.iter().zip([
        "it has no id",
        "its payload is no text",
        "the message cannot be read, its payload:",
        "the message cannot be read, its topic: nobody here knows it",
        "the message cannot be read, its id: it has 300 bytes",
    ]) {
        assert!(reason.starts_with(begins), "{reason}");
    }
    let said = world.ask(&["dead-letters", "replay"]);
    assert_eq!(said, "0 worked off, 0 had been before, 5 stay\n");
    let place = world.ask(&["dead-letters", "list"]);
    let place =
        serde_json::from_str::<Value>(place.lines().next().unwrap()).unwrap()["place"].clone();
    world.ask(&[
        "dead-letters",
        "discard",
        "--place",
        place.as_str().unwrap(),
    ]);
    assert_eq!(world.books.number(LETTERS).await, 4);
}

/// The first message of each order fails, and the second one is kept behind it: it must not overtake.
#[tokio::test]
async fn work_that_fails_too_often_is_kept_with_what_is_behind_it_and_replayed_in_order() {
    let world = World::with_messages(4).await;
    let hide = "ALTER TABLE notices RENAME TO hidden";
    world.books.run(hide).await;
    let _broker = world.start_broker().await;
    let _relay = world.run("relay");
    let limits = Limits {
        failures: 2,
        ..Limits::default()
    };
    let consumer = world.consume(limits).await;
    world.until_letters(4).await;
    consumer.abort();
    let reasons = world.reasons();
    let failed = reasons
        .iter()
        .filter(|reason| reason.starts_with("it failed 2 times"))
        .count();
    let behind = "an earlier message about the same is a dead letter";
    let kept = reasons.iter().filter(|reason| *reason == behind).count();
    assert_eq!((failed, kept), (2, 2), "{reasons:?}");
    assert_eq!(world.books.number("SELECT count(*) FROM consumed").await, 0);
    let show = "ALTER TABLE hidden RENAME TO notices";
    world.books.run(show).await;
    let said = world.ask(&["dead-letters", "replay"]);
    assert_eq!(said, "4 worked off, 0 had been before, 0 stay\n");
    world.until_done(4).await;
    assert_eq!(world.books.number(LETTERS).await, 0);
}

#[tokio::test]
async fn a_message_that_waited_longer_than_records_are_kept_is_a_dead_letter_and_not_dropped() {
    let (world, _programs) = World::with_relayed(4).await;
    let limits = Limits {
        age: Duration::ZERO,
        ..Limits::default()
    };
    let consumer = world.consume(limits).await;
    world.until_letters(4).await;
    world.until_acknowledged(4).await;
    consumer.abort();
    let waited = "it waited 0 hours, and whether it was worked off is not remembered so long";
    assert_eq!(world.reasons(), [waited; 4]);
    assert_eq!(
        world.ask(&["dead-letters", "replay"]),
        "4 worked off, 0 had been before, 0 stay\n"
    );
    world.until_done(4).await;
}
