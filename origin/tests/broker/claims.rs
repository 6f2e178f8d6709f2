//! Consumers that ask a gate first, which says what the test makes it say.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt as _;
use oncegate_client::{Claims, Client};
use oncegate_origin::broker::{Broker, Limits};
use oncegate_origin::commands::Trouble;
use oncegate_origin::sql::{Database, Dialect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::World;
use crate::books::with_database;
use crate::shop::{address, until};

const LETTERS: &str = "SELECT count(*) FROM dead_letters";
const ACQUIRED: &str = r#"{"items":[{"key":"m","answer":"acquired","owner":"o","fence":1}]}"#;
const BUSY: &str = r#"{"items":[{"key":"m","answer":"busy","lease_ends_in_ms":2000}]}"#;
const DONE: &str = r#"{"items":[{"key":"m","answer":"done"}]}"#;
const UNKNOWN_SECRET: &str =
    r#"{"status":401,"code":"unauthorized","detail":"Not known.","retryable":false}"#;

impl World {
    async fn consume_with(
        &self,
        limits: Limits,
        gate: Option<&str>,
    ) -> JoinHandle<Result<(), Trouble>> {
        let claims = gate.map(|gate| {
            let client = Client::new(gate, "secret").unwrap();
            client.claims("shop/effects", Duration::from_secs(30))
        });
        let (database, broker) = (self.books.url(), self.url());
        with_database!(self.books.kind(), DB => tokio::spawn(consume::<DB>(database, broker, limits, claims)))
    }

    /// The consumer as another build has set it, and the stream that it is of.
    async fn left_by_an_earlier_build(&self, settings: pull::Config) -> (Stream, PullConsumer) {
        let stream = self.jetstream().await.get_stream("oncegate-shop").await;
        let stream = stream.unwrap();
        let settings = pull::Config {
            durable_name: Some("effects".into()),
            ..settings
        };
        let consumer = stream.create_consumer(settings).await.unwrap();
        (stream, consumer)
    }

    /// How often the broker has delivered, and how many it waits for.
    async fn delivered(&self) -> (u64, usize) {
        let stream = self.jetstream().await.get_stream("oncegate-shop").await;
        match stream.unwrap().consumer_info("effects").await {
            Ok(info) => (info.delivered.consumer_sequence, info.num_ack_pending),
            Err(_) => (0, 0),
        }
    }
}

async fn consume<DB: Dialect>(
    database: String,
    broker: String,
    limits: Limits,
    claims: Option<Claims>,
) -> Result<(), Trouble> {
    let database = Database::<DB>::open(&database).await?;
    let broker = Broker::connect(&broker).await?;
    broker.consume(&database, limits, claims.as_ref()).await
}

/// A gate that gives these answers to whoever claims, and the last one from then on.
async fn gate(status: u16, answers: &[&'static str]) -> String {
    let listener = TcpListener::bind(address()).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answers = Arc::new(Mutex::new(answers.to_vec()));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let answers = answers.clone();
            tokio::spawn(async move { answer(socket, status, &answers).await });
        }
    });
    url
}

async fn answer(mut socket: TcpStream, status: u16, answers: &Mutex<Vec<&'static str>>) {
    let mut asked = String::new();
    while !asked.ends_with("}]}") {
        let mut bytes = [0; 4_096];
        match socket.read(&mut bytes).await {
            Ok(count @ 1..) => asked.push_str(&String::from_utf8_lossy(&bytes[..count])),
            _ => return,
        }
    }
    let claims = asked.starts_with("POST /.oncegate/v1/claims HTTP");
    let body = match claims {
        true => {
            let mut answers = answers.lock().unwrap();
            match answers.len() {
                1 => answers[0],
                _ => answers.remove(0),
            }
        }
        false => DONE,
    };
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    let _ = socket.write_all(text.as_bytes()).await;
}

/// Waiting would change nothing, and hold up the queue.
#[tokio::test]
async fn a_consumer_whose_secret_the_gate_does_not_know_ends_and_says_why() {
    let (world, _programs) = World::with_relayed(2).await;
    let gate = gate(401, &[UNKNOWN_SECRET]).await;
    let consumer = world.consume_with(Limits::default(), Some(&gate)).await;
    until(async || consumer.is_finished()).await;
    let why = consumer.await.unwrap().unwrap_err().to_string();
    assert!(why.contains("unauthorized"), "{why}");
}

/// What the gate calls done it calls so as well where it was cancelled; the record in the database knows better.
#[tokio::test]
async fn a_message_that_the_gate_calls_done_is_done_where_no_record_says_so() {
    let world = World::with_messages(2).await;
    let _broker = world.start_broker().await;
    let _relay = world.run("relay");
    let gate = gate(200, &[DONE]).await;
    let consumer = world.consume_with(Limits::default(), Some(&gate)).await;
    world.until_done(2).await;
    consumer.abort();
}

#[tokio::test]
async fn a_consumer_that_does_not_reach_the_gate_hands_on_what_it_has() {
    let (world, _programs) = World::with_relayed(2).await;
    let limits = Limits {
        failures: 1,
        patience: Duration::from_millis(500),
        ..Limits::default()
    };
    let nowhere = format!("http://{}", address());
    let cut_off = world.consume_with(limits, Some(&nowhere)).await;
    until(async || world.delivered().await == (1, 1)).await;
    let other = world.consume_with(Limits::default(), None).await;
    world.until_done(2).await;
    assert_eq!(world.books.number(LETTERS).await, 0);
    cut_off.abort();
    other.abort();
}

/// As on a connection to a database that is dead without a word. It has failed nowhere, however often it was delivered.
#[tokio::test]
async fn work_that_does_not_end_is_handed_on_and_is_no_failure() {
    let (world, _programs) = World::with_relayed(2).await;
    let limits = Limits {
        failures: 1,
        patience: Duration::ZERO,
        ..Limits::default()
    };
    let hanging = world.consume_with(limits, None).await;
    until(async || world.delivered().await.0 >= 3).await;
    assert_eq!(world.books.number(LETTERS).await, 0);
    hanging.abort();
    let other = world.consume_with(Limits::default(), None).await;
    world.until_done(2).await;
    other.abort();
}

/// The broker would keep the silence of whoever came first, and deliver anew what is being worked on.
#[tokio::test]
async fn a_consumer_that_an_earlier_build_left_is_set_anew_and_keeps_its_place() {
    let (world, _programs) = World::with_relayed(4).await;
    let settings = pull::Config {
        ack_wait: Duration::from_millis(200),
        max_ack_pending: 7,
        ..pull::Config::default()
    };
    let (stream, earlier) = world.left_by_an_earlier_build(settings).await;
    let mut messages = earlier.fetch().max_messages(1).messages().await.unwrap();
    let first = messages.next().await.unwrap().unwrap();
    first.double_ack().await.unwrap();
    let limits = Limits {
        silence: Duration::from_secs(7),
        ..Limits::default()
    };
    let consumer = world.consume_with(limits, None).await;
    world.until_done(3).await;
    world.until_acknowledged(4).await;
    let set = stream.consumer_info("effects").await.unwrap().config;
    assert_eq!((set.ack_wait, set.max_ack_pending), (limits.silence, 1));
    assert_eq!(world.delivered().await, (4, 0));
    consumer.abort();
}

/// Not everything of a consumer can be set anew. What a person reads then, helps.
#[tokio::test]
async fn a_consumer_that_cannot_be_set_anew_is_told_with_what_to_do() {
    let (world, _programs) = World::with_relayed(2).await;
    let settings = pull::Config {
        max_waiting: 7,
        ..pull::Config::default()
    };
    let (stream, _) = world.left_by_an_earlier_build(settings).await;
    let refused = world.consume_with(Limits::default(), None).await;
    let told = refused.await.unwrap().unwrap_err().to_string();
    assert!(
        told.contains("`nats consumer rm oncegate-shop effects`"),
        "{told}"
    );
    stream.delete_consumer("effects").await.unwrap();
    let consumer = world.consume_with(Limits::default(), None).await;
    world.until_done(2).await;
    consumer.abort();
}

#[tokio::test]
async fn a_message_that_somebody_has_for_long_is_delivered_to_nobody_else() {
    let world = World::with_messages(1).await;
    let _broker = world.start_broker().await;
    let _relay = world.run("relay");
    let gate = gate(200, &[BUSY, BUSY, BUSY, ACQUIRED]).await;
    let limits = Limits {
        silence: Duration::from_secs(2),
        ..Limits::default()
    };
    let consumer = world.consume_with(limits, Some(&gate)).await;
    world.until_done(1).await;
    world.until_acknowledged(1).await;
    assert_eq!(world.delivered().await, (1, 0));
    consumer.abort();
}
