//! The outbox and its relay: at least once, in order, marked.

use std::fmt::Display;
use std::sync::Mutex;

use oncegate_origin::clock::now_ms;
use oncegate_origin::consumer;
use oncegate_origin::outbox::{MOST_ATTEMPTS, Message, Owed, Receiver, owe, relay_once, revive};
use oncegate_origin::shop::effects::Here;
use oncegate_origin::sql::{Dialect, Statements};
use serde_json::json;

use super::{Store, on_store};

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
        let owed = Owed {
            aggregate: aggregate.to_owned(),
            place,
            topic: "notice",
            payload: json!({ "order": aggregate, "status": "PAID" }),
        };
        owe::<DB>(&mut connection, &owed).await.unwrap();
    }

    /// As if the pauses and leases were over.
    async fn hurry(&self) {
        let sql = "UPDATE outbox SET due_at = 0, lease_until = 0";
        self.connect().await.run(sql, &[]).await.unwrap();
    }

    async fn rounds(&self, receiver: &impl Receiver, rounds: usize) {
        for _ in 0..rounds {
            relay_once(&self.database, "relay", receiver).await.unwrap();
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
                relay_once(&store.database, "one", &recorder),
                relay_once(&other, "two", &recorder),
                relay_once(&third, "three", &recorder)
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
        let owed = Owed {
            aggregate: "a".to_owned(),
            place: 1,
            topic: "notice",
            payload: json!({}),
        };
        owe::<DB>(&mut connection, &owed).await.unwrap();
        connection.run("ROLLBACK", &[]).await.unwrap();
        assert_eq!(store.books.number("SELECT count(*) FROM outbox").await, 0);
    });
}

/// A record is kept longer than the message can come again, and then it goes.
#[tokio::test]
async fn records_are_forgotten_after_the_window_and_not_before() {
    on_store!(|store| {
        let mut connection = store.connect().await;
        for message in ["old", "new"] {
            assert!(
                consumer::is_new::<DB>(&mut connection, "c", message)
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
            !consumer::is_new::<DB>(&mut connection, "c", "new")
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
