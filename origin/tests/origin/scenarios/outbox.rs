//! The outbox and its relay: at least once, in order, marked.

use std::fmt::Display;
use std::sync::Mutex;

use oncegate_origin::clock::now_ms;
use oncegate_origin::consumer;
use oncegate_origin::id::Id;
use oncegate_origin::outbox::{MOST_ATTEMPTS, Message, Owed, Receiver, owe, relay_once, revive};
use oncegate_origin::shop::effects::Here;
use oncegate_origin::sql::{Dialect, Statements};
use serde_json::json;

use super::{Store, on_store};
use crate::shop::until;

/// Remembers what came, and fails for what it is told to.
#[derive(Default)]
struct Recorder {
    came: Mutex<Vec<(String, i64)>>,
    failing: Mutex<Vec<&'static str>>,
}

impl Receiver for Recorder {
    async fn deliver(&self, message: &Message) -> Result<(), Box<dyn Display + Send + Sync>> {
        let fails = self.failing.lock().unwrap().contains(&message.id.as_str());
        if fails {
            return Err(Box::new("it was told to fail"));
        }
        let came = (message.id.clone(), message.attempt);
        self.came.lock().unwrap().push(came);
        Ok(())
    }
}

impl Recorder {
    fn ids(&self) -> Vec<String> {
        let came = self.came.lock().unwrap();
        came.iter().map(|(id, _)| id.clone()).collect()
    }
}

impl<DB: Dialect> Store<DB> {
    async fn owe(&self, aggregate: &str, place: i64) {
        let mut connection = self.connect().await;
        let payload = json!({ "order": aggregate, "status": "PAID" });
        let owed = Owed::new(Id::parse(aggregate).unwrap(), place, "notice", payload).unwrap();
        owe(&mut connection, &owed).await.unwrap();
    }

    /// As if the pauses and leases were over.
    async fn hurry(&self) {
        let sql = "UPDATE outbox SET due_at = 0, lease_until = 0";
        self.connect().await.run(sql, &[]).await.unwrap();
    }

    async fn rounds(&self, receiver: &impl Receiver, rounds: usize) {
        for _ in 0..rounds {
            relay_once(&self.database, Id::literal("relay"), receiver)
                .await
                .unwrap();
            self.hurry().await;
        }
    }
}

#[tokio::test]
async fn messages_of_one_aggregate_wait_for_the_one_before_and_hold_up_no_other() {
    on_store!(|store| {
        for (aggregate, place) in [("a", 2), ("a", 1), ("b", 1), ("a", 3)] {
            store.owe(aggregate, place).await;
        }
        let recorder = Recorder::default();
        *recorder.failing.lock().unwrap() = vec!["a/1/notice"];
        store.rounds(&recorder, 3).await;
        assert_eq!(recorder.ids(), ["b/1/notice"]);
        recorder.failing.lock().unwrap().clear();
        store.rounds(&recorder, 3).await;
        assert_eq!(
            recorder.ids()[1..],
            ["a/1/notice", "a/2/notice", "a/3/notice"]
        );
        let (_, attempt) = recorder.came.lock().unwrap()[1].clone();
        assert_eq!(
            attempt, 4,
            "the number of the attempt says that it was tried before"
        );
    });
}

#[tokio::test]
async fn a_message_that_fails_too_often_is_dead_until_a_person_revives_it() {
    on_store!(|store| {
        store.owe("a", 1).await;
        store.owe("a", 2).await;
        let recorder = Recorder::default();
        *recorder.failing.lock().unwrap() = vec!["a/1/notice"];
        store
            .rounds(&recorder, usize::try_from(MOST_ATTEMPTS).unwrap() + 2)
            .await;
        let dead = "SELECT count(*) FROM outbox WHERE state = 'dead' AND attempts = 10";
        assert_eq!(store.books.number(dead).await, 1);
        recorder.failing.lock().unwrap().clear();
        store.rounds(&recorder, 2).await;
        assert!(recorder.ids().is_empty(), "a dead message keeps its place");
        assert_eq!(revive(&store.database).await.unwrap(), 1);
        store.rounds(&recorder, 3).await;
        assert_eq!(recorder.ids(), ["a/1/notice", "a/2/notice"]);
    });
}

#[tokio::test]
async fn relays_that_work_at_once_share_the_messages() {
    on_store!(|store| {
        for number in 0..40 {
            store.owe(&format!("a{number}"), 1).await;
        }
        let recorder = Recorder::default();
        let other = super::open::<DB>(&store.books).await;
        let third = super::open::<DB>(&store.books).await;
        for _ in 0..4 {
            let rounds = tokio::join!(
                relay_once(&store.database, Id::literal("one"), &recorder),
                relay_once(&other, Id::literal("two"), &recorder),
                relay_once(&third, Id::literal("three"), &recorder)
            );
            for round in [rounds.0, rounds.1, rounds.2] {
                round.unwrap();
            }
        }
        let mut ids = recorder.ids();
        ids.sort();
        ids.dedup();
        assert_eq!((ids.len(), recorder.ids().len()), (40, 40));
    });
}

/// It takes three messages and dies at the first one.
#[tokio::test]
async fn a_relay_counts_an_attempt_when_it_makes_one_and_not_when_it_takes() {
    on_store!(|store| {
        struct Dies;
        impl Receiver for Dies {
            async fn deliver(&self, _: &Message) -> Result<(), Box<dyn Display + Send + Sync>> {
                std::future::pending().await
            }
        }
        for aggregate in ["a", "b", "c"] {
            store.owe(aggregate, 1).await;
        }
        let tried = "SELECT count(*) FROM outbox WHERE attempts = 1";
        {
            let mut relaying = Box::pin(relay_once(&store.database, Id::literal("relay"), &Dies));
            tokio::select! {
                _ = &mut relaying => panic!("nothing was delivered"),
                () = until(async || store.books.number(tried).await == 1) => {}
            }
        }
        let taken = "SELECT count(*) FROM outbox WHERE owner IS NOT NULL AND attempts = 0";
        assert_eq!(store.books.number(taken).await, 2);
        store.hurry().await;
        let recorder = Recorder::default();
        store.rounds(&recorder, 1).await;
        let mut came = recorder.came.lock().unwrap().clone();
        came.sort();
        let attempts: Vec<i64> = came.iter().map(|(_, attempt)| *attempt).collect();
        assert_eq!(attempts, [2, 1, 1]);
    });
}

/// While it is at its first message, the lease of the others runs out, and another relay delivers one of them.
#[tokio::test]
async fn a_slow_relay_renews_its_lease_and_leaves_what_another_relay_took() {
    on_store!(|store| {
        struct Slow<'s, DB: Dialect>(&'s Store<DB>, Recorder, Recorder);
        impl<DB: Dialect> Receiver for Slow<'_, DB> {
            async fn deliver(
                &self,
                message: &Message,
            ) -> Result<(), Box<dyn Display + Send + Sync>> {
                let Self(store, came, others) = self;
                came.deliver(message).await?;
                if message.id == "a/1/notice" {
                    let over = "UPDATE outbox SET lease_until = 0,
                        due_at = CASE aggregate WHEN 'c' THEN 9000000000000 ELSE due_at END
                        WHERE aggregate <> 'a'";
                    store.books.run(over).await;
                    let other = super::open::<DB>(&store.books).await;
                    let round = relay_once(&other, Id::literal("other"), others).await;
                    assert_eq!(round.unwrap().delivered, 1);
                }
                let renewed = format!("lease_until > {}", now_ms());
                let sql = "SELECT count(*) FROM outbox WHERE owner = 'slow' AND";
                assert_eq!(store.books.number(&format!("{sql} {renewed}")).await, 1);
                Ok(())
            }
        }
        for aggregate in ["a", "b", "c"] {
            store.owe(aggregate, 1).await;
        }
        let slow = Slow(&store, Recorder::default(), Recorder::default());
        let round = relay_once(&store.database, Id::literal("slow"), &slow).await;
        assert_eq!(round.unwrap().delivered, 2);
        assert_eq!(slow.1.ids(), ["a/1/notice", "c/1/notice"]);
        assert_eq!(slow.2.ids(), ["b/1/notice"]);
        let once = "SELECT count(*) FROM outbox WHERE state = 'delivered' AND attempts = 1";
        assert_eq!(store.books.number(once).await, 3);
    });
}

/// It delivers and dies before it marks.
#[tokio::test]
async fn a_message_that_was_delivered_and_not_marked_comes_again_and_is_dropped() {
    on_store!(|store| {
        struct Dies<'r, R>(&'r R);
        impl<R: Receiver> Receiver for Dies<'_, R> {
            async fn deliver(
                &self,
                message: &Message,
            ) -> Result<(), Box<dyn Display + Send + Sync>> {
                self.0.deliver(message).await?;
                Err(Box::new("no answer came back"))
            }
        }
        let here = Here(store.database.clone());
        store.owe("a", 1).await;
        store.rounds(&Dies(&here), 3).await;
        store.rounds(&here, 1).await;
        let sql = "SELECT count(*) FROM notices";
        assert_eq!(store.books.number(sql).await, 1);
        let delivered = "SELECT attempts FROM outbox WHERE state = 'delivered'";
        assert_eq!(store.books.number(delivered).await, 4);
    });
}

#[tokio::test]
async fn what_is_rolled_back_owes_nothing() {
    on_store!(|store| {
        let mut connection = store.connect().await;
        connection.run("BEGIN", &[]).await.unwrap();
        let owed = Owed::new(Id::literal("a"), 1, "notice", json!({})).unwrap();
        owe(&mut connection, &owed).await.unwrap();
        connection.run("ROLLBACK", &[]).await.unwrap();
        assert_eq!(store.books.number("SELECT count(*) FROM outbox").await, 0);
    });
}

/// A record is kept longer than the message can come again, and then it goes.
#[tokio::test]
async fn records_are_forgotten_after_the_window_and_not_before() {
    on_store!(|store| {
        let mut connection = store.connect().await;
        let consumer = Id::literal("c");
        for message in ["old", "new"].map(Id::literal) {
            assert!(
                consumer::is_new(&mut connection, consumer, message)
                    .await
                    .unwrap()
            );
        }
        let age = "UPDATE consumed SET consumed_at = 0 WHERE message = ?";
        connection.run(age, &["old".into()]).await.unwrap();
        let now = now_ms();
        assert_eq!(consumer::purge(&store.database, now).await.unwrap(), 1);
        let later = now + consumer::WINDOW_MS;
        assert!(
            !consumer::is_new(&mut connection, consumer, Id::literal("new"))
                .await
                .unwrap()
        );
        assert_eq!(
            consumer::purge(&store.database, later + 60_000)
                .await
                .unwrap(),
            1
        );
    });
}
