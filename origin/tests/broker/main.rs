//! Messages through a real broker, which delivers some of them again: NATS JetStream, started by the
//! tests with a folder of its own. `ONCEGATE_NATS_SERVER` names the program.

#[expect(dead_code, reason = "shared with the other tests")]
#[path = "../origin/books.rs"]
mod books;
#[expect(dead_code, reason = "shared with the other tests")]
#[path = "../origin/client.rs"]
mod client;
#[expect(dead_code, reason = "shared with the other tests")]
#[path = "../origin/shop.rs"]
mod shop;

mod claims;
mod dead;

use std::fs::File;
use std::net::SocketAddr;
use std::process::{Child, Command};

use async_nats::jetstream::Context;
use oncegate_origin::id::Id;
use oncegate_origin::outbox::{Owed, owe};
use oncegate_origin::sql::{Database, Dialect};
use serde_json::json;
use sqlx::Connection as _;
use tempfile::TempDir;
use tokio::net::TcpStream;

use books::{Books, with_database};
use shop::{address, until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_oncegate-origin");
const DONE: &str = "SELECT count(*) FROM notices";

/// A process that ends with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("the program"))
    }

    /// As a crash does.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A shop's database with messages in its outbox, and a broker.
struct World {
    books: Books,
    folder: TempDir,
    at: SocketAddr,
}

impl World {
    /// So many messages are owed, two about each order.
    async fn with_messages(messages: i64) -> Self {
        let books = Books::new().await;
        with_database!(books.kind(), DB => owe_messages::<DB>(&books, messages).await);
        let folder = TempDir::new().unwrap();
        let at = address();
        Self { books, folder, at }
    }

    /// Messages that the broker has, and nobody has asked for yet. Whoever drops the programs ends them.
    async fn with_relayed(messages: i64) -> (Self, [Running; 2]) {
        let world = Self::with_messages(messages).await;
        let broker = world.start_broker().await;
        let relay = world.run("relay");
        world.until_relayed().await;
        (world, [broker, relay])
    }

    async fn start_broker(&self) -> Running {
        let program = std::env::var("ONCEGATE_NATS_SERVER")
            .expect("ONCEGATE_NATS_SERVER: run `cargo xtask test databases`, which sets it");
        let mut command = Command::new(program);
        command.args([
            "-a",
            "127.0.0.1",
            "-p",
            &self.at.port().to_string(),
            "-js",
            "-sd",
        ]);
        command.arg(self.folder.path().join("js"));
        command.arg("-l").arg(self.folder.path().join("nats.log"));
        let broker = Running::start(&mut command);
        until(async || TcpStream::connect(self.at).await.is_ok()).await;
        broker
    }

    fn url(&self) -> String {
        format!("nats://{}", self.at)
    }

    /// `relay` or `consume`, which logs into a file.
    fn run(&self, command: &str) -> Running {
        let log = File::create(self.log(command)).unwrap();
        let mut program = Command::new(PROGRAM);
        program.args([
            command,
            "--database",
            &self.books.url(),
            "--broker",
            &self.url(),
        ]);
        Running::start(program.stderr(log))
    }

    fn log(&self, command: &str) -> std::path::PathBuf {
        self.folder.path().join(format!("{command}.log"))
    }

    async fn until_done(&self, messages: i64) {
        until(async || self.books.number(DONE).await == messages).await;
    }

    async fn until_relayed(&self) {
        let owed = "SELECT count(*) FROM outbox WHERE state <> 'delivered'";
        until(async || self.books.number(owed).await == 0).await;
    }

    /// Until the broker has heard of the end of so many messages.
    async fn until_acknowledged(&self, messages: u64) {
        let jetstream = self.jetstream().await;
        let stream = jetstream.get_stream("oncegate-shop").await.unwrap();
        until(async || {
            let info = stream.consumer_info("effects").await;
            info.is_ok_and(|info| info.ack_floor.stream_sequence == messages)
        })
        .await;
    }

    /// On a busy machine a broker that begins takes a connection and drops it.
    async fn jetstream(&self) -> Context {
        let mut client = None;
        until(async || {
            client = async_nats::connect(self.url()).await.ok();
            client.is_some()
        })
        .await;
        async_nats::jetstream::new(client.unwrap())
    }

    /// The relay has forgotten what it delivered, and so has the broker.
    async fn forget_deliveries(&self) {
        let jetstream = self.jetstream().await;
        jetstream.delete_stream("oncegate-shop").await.unwrap();
        let again = "UPDATE outbox SET state = 'pending', lease_until = 0";
        self.books.run(again).await;
    }

    /// What a command prints.
    fn ask(&self, command: &[&str]) -> String {
        let mut program = Command::new(PROGRAM);
        program.args(command);
        program.args(["--database", &self.books.url()]);
        let output = program.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

async fn owe_messages<DB: Dialect>(books: &Books, messages: i64) {
    let database = Database::<DB>::open(&books.url()).await.unwrap();
    database.migrate_shop().await.unwrap();
    let mut connection = DB::Connection::connect(&books.url()).await.unwrap();
    for number in 0..messages {
        let order = format!("order{}", number / 2);
        let payload = json!({ "order": order, "status": "PAID" });
        let owed = Owed::new(Id::parse(&order).unwrap(), number, "notice", payload).unwrap();
        owe(&mut connection, &owed).await.unwrap();
    }
}

#[tokio::test]
async fn a_broker_that_delivers_everything_again_does_nothing_twice() {
    let world = World::with_messages(20).await;
    let _broker = world.start_broker().await;
    let (relay, consumer) = (world.run("relay"), world.run("consume"));
    world.until_done(20).await;
    world.until_relayed().await;
    world.until_acknowledged(20).await;
    relay.kill();
    consumer.kill();
    world.forget_deliveries().await;
    let (_relay, _consumer) = (world.run("relay"), world.run("consume"));
    world.until_relayed().await;
    world.until_acknowledged(20).await;
    assert_eq!(world.books.number(DONE).await, 20);
    let records = "SELECT count(*) FROM consumed";
    assert_eq!(world.books.number(records).await, 20);
}

/// Acknowledgements of the last moment are not on the broker's disk.
#[tokio::test]
async fn a_broker_that_is_killed_loses_no_message_and_what_comes_again_is_dropped() {
    let world = World::with_messages(30).await;
    let broker = world.start_broker().await;
    let _relay = world.run("relay");
    let consumer = world.run("consume");
    until(async || world.books.number(DONE).await >= 5).await;
    broker.kill();
    let _broker = world.start_broker().await;
    world.until_relayed().await;
    world.until_done(30).await;
    drop(consumer);
    assert_eq!(world.books.number(DONE).await, 30);
}

/// The record goes with the work that failed, so that the next delivery is not taken for a repeat.
#[tokio::test]
async fn work_that_failed_is_delivered_again_and_done() {
    let world = World::with_messages(4).await;
    world
        .books
        .run("ALTER TABLE notices RENAME TO hidden")
        .await;
    let _broker = world.start_broker().await;
    let _relay = world.run("relay");
    let _consumer = world.run("consume");
    let failed = || {
        std::fs::read_to_string(world.log("consume"))
            .unwrap()
            .lines()
            .count()
    };
    until(async || failed() >= 2).await;
    let records = "SELECT count(*) FROM consumed";
    assert_eq!(world.books.number(records).await, 0);
    world
        .books
        .run("ALTER TABLE hidden RENAME TO notices")
        .await;
    world.until_done(4).await;
}
