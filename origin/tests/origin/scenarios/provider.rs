//! Rule L7 with real processes: a shop, and a payment provider that is slow, loses answers and crashes.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{assert_balance, later, relay_all};
use crate::books::Books;
use crate::client::{CARD, Call, DECLINED_CARD, Response, SECRETS, exchange, parse, request};
use crate::shop::{ADMIN_SECRETS, address, admin, until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_oncegate-origin");

/// A process that says where it listens.
struct Program {
    child: Child,
    address: SocketAddr,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program");
        let stdout = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.expect(&line).parse().expect("an address");
        Self { child, address }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shop and its provider.
struct World {
    books: Books,
    folder: TempDir,
    provider_at: SocketAddr,
    provider: Option<Program>,
    shop: Option<Program>,
}

impl World {
    async fn start() -> Self {
        let mut world = Self {
            books: Books::new().await,
            folder: TempDir::new().unwrap(),
            provider_at: address(),
            provider: None,
            shop: None,
        };
        world.start_provider();
        world.start_shop(&[]);
        world
    }

    fn start_provider(&mut self) {
        let mut command = Command::new(PROGRAM);
        command.args(["provider", "--listen", &self.provider_at.to_string()]);
        command
            .arg("--books")
            .arg(self.folder.path().join("provider.sqlite"));
        self.provider = Some(Program::start(&mut command));
    }

    fn start_shop(&mut self, arguments: &[&str]) {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--listen", &address().to_string()]);
        command.args(["--database", &self.books.url()]);
        command.args(["--provider", &format!("http://{}", self.provider_at)]);
        command.args(["--provider-timeout-ms", "2000"]);
        command.args(arguments);
        command.env("ONCEGATE_SIGNING_SECRETS", SECRETS);
        command.env("ONCEGATE_ADMIN_SECRETS", ADMIN_SECRETS);
        self.shop = Some(Program::start(&mut command));
    }

    fn kill_shop(&mut self) {
        self.shop.take().unwrap().kill();
    }

    async fn send(&self, call: &Call) -> Response {
        let address = self.shop.as_ref().unwrap().address;
        parse(&exchange(address, &call.request()).await)
    }

    /// An order of one mug that waits for its payment.
    async fn order(&self) -> String {
        let response = self.send(&Call::order("order").with_body(later(1))).await;
        response.json()["order"]["id"].as_str().unwrap().to_owned()
    }

    async fn set_faults(&self, faults: Value) {
        let kind = ("content-type", "application/json".to_owned());
        let bytes = request("PUT", "/faults", &[kind], faults.to_string().as_bytes());
        let answer = parse(&exchange(self.provider_at, &bytes).await);
        assert_eq!(answer.status, 204);
    }

    /// The provider's books.
    async fn charges(&self) -> Vec<Value> {
        let answer = exchange(self.provider_at, &request("GET", "/charges", &[], b"")).await;
        parse(&answer).json().as_array().unwrap().clone()
    }

    /// Paid once, by the provider's books and by ours.
    async fn assert_paid_once(&self) {
        relay_all(&self.books).await;
        let charges = self.charges().await;
        assert_eq!(charges.len(), 1, "{charges:?}");
        assert_eq!(
            (&charges[0]["outcome"], &charges[0]["amount_cents"]),
            (&"charged".into(), &2400.into())
        );
        let paid = "SELECT count(*) FROM callbacks WHERE outcome = 'settled'";
        assert_eq!(self.books.number(paid).await, 1);
        assert_eq!(self.books.number("SELECT status FROM orders").await, 2);
        assert_eq!(self.books.stock("mug").await, 99);
        assert_balance(&self.books).await;
    }
}

fn payment(order: &str, card: &str) -> Call {
    let digits = card.replace(' ', "");
    Call::at(
        &format!("/orders/{order}/pay"),
        "pay",
        &json!({ "card": digits }).to_string(),
    )
}

#[tokio::test]
async fn l7_an_answer_that_was_lost_and_a_provider_that_crashed_are_asked_again_and_charge_once() {
    let mut world = World::start().await;
    let order = world.order().await;
    world
        .set_faults(json!(["lose_answer", "unavailable", "crash"]))
        .await;
    let call = payment(&order, CARD);
    for _ in 0..3 {
        let response = world.send(&call).await;
        assert_eq!((response.status, response.outcome()), (500, None));
    }
    world.provider.take().unwrap().kill();
    world.start_provider();
    let response = world.send(&call).await;
    assert_eq!(
        (response.status, response.outcome()),
        (200, Some("executed"))
    );
    assert_eq!(world.send(&call).await.stored(), response.stored());
    world.assert_paid_once().await;
}

impl World {
    /// The provider has charged and not answered yet when the shop is killed.
    async fn killed_between_call_and_result() -> (Self, Call) {
        let mut world = Self::start().await;
        let order = world.order().await;
        world.set_faults(json!([{ "slow": 60_000 }])).await;
        let call = payment(&order, CARD);
        let shop = world.shop.as_ref().unwrap().address;
        let mut stream = TcpStream::connect(shop).await.unwrap();
        stream.write_all(&call.request()).await.unwrap();
        until(async || !world.charges().await.is_empty()).await;
        world.kill_shop();
        let started = "SELECT count(*) FROM idempotency_ledger WHERE state = 'started'";
        assert_eq!(world.books.number(started).await, 1);
        (world, call)
    }
}

/// The duplicate waits until nobody can be at the provider any more: a little longer than the provider is waited for.
#[tokio::test]
async fn l7_a_shop_killed_between_the_call_and_its_result_goes_on_with_the_next_duplicate() {
    let (mut world, call) = World::killed_between_call_and_result().await;
    world.start_shop(&[]);
    let response = world.send(&call).await;
    assert_eq!(
        (response.status, response.outcome()),
        (200, Some("executed"))
    );
    world.assert_paid_once().await;
}

/// No client comes back. The card is nowhere, so the provider is asked what became of the call.
#[tokio::test]
async fn l7_a_payment_that_was_begun_is_finished_without_any_client() {
    let (mut world, call) = World::killed_between_call_and_result().await;
    world.start_shop(&["--recover-ms", "100"]);
    let paid = "SELECT count(*) FROM callbacks";
    until(async || world.books.number(paid).await == 1).await;
    world.assert_paid_once().await;
    let response = world.send(&call).await;
    assert_eq!(
        (response.status, response.outcome()),
        (200, Some("executed"))
    );
    assert_eq!(world.charges().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l7_callers_at_once_are_one_charge() {
    let world = World::start().await;
    let order = world.order().await;
    let call = payment(&order, CARD);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let (address, bytes) = (world.shop.as_ref().unwrap().address, call.request());
        calls.spawn(async move { parse(&exchange(address, &bytes).await).status });
    }
    assert_eq!(calls.join_all().await, [200; 30]);
    world.assert_paid_once().await;
}

#[tokio::test]
async fn l7_a_declined_card_is_a_refusal_and_another_card_pays() {
    let world = World::start().await;
    let order = world.order().await;
    let declined = payment(&order, DECLINED_CARD);
    for _ in 0..2 {
        let response = world.send(&declined).await;
        assert_eq!(
            (response.status, response.outcome()),
            (402, Some("refused"))
        );
    }
    let other = Call {
        key: "another card".replace(' ', "-"),
        ..payment(&order, CARD)
    };
    assert_eq!(world.send(&other).await.status, 200);
    let again = Call {
        key: "late".into(),
        ..payment(&order, CARD)
    };
    assert_eq!(world.send(&again).await.code(), "order_not_open");
    relay_all(&world.books).await;
    assert_eq!(world.charges().await.len(), 2);
    assert_balance(&world.books).await;
}

/// The payment was begun, its answer was lost, and meanwhile the order was canceled: the charge is found, written down,
/// and a person is told.
#[tokio::test]
async fn l7_a_payment_that_was_begun_is_found_even_if_its_order_waits_for_none_any_more() {
    let world = World::start().await;
    let order = world.order().await;
    world.set_faults(json!(["lose_answer"])).await;
    let call = payment(&order, CARD);
    assert_eq!(world.send(&call).await.status, 500);
    let cancel = Call::at(&format!("/orders/{order}/cancel"), "cancel", "");
    assert_eq!(world.send(&cancel).await.status, 200);
    let response = world.send(&call).await;
    assert_eq!(
        (response.status, response.outcome()),
        (200, Some("executed"))
    );
    assert_eq!(response.json()["outcome"], "surplus");
    // A duplicate hears the same, and nobody is told again.
    assert_eq!(world.send(&call).await.stored(), response.stored());
    assert_eq!(world.charges().await.len(), 1);
    let surplus = "SELECT count(*) FROM callbacks WHERE outcome = 'surplus'";
    assert_eq!(world.books.number(surplus).await, 1);
    let shop = world.shop.as_ref().unwrap().address;
    let metrics = parse(&exchange(shop, &request("GET", "/metrics", &[admin()], b"")).await);
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.contains("surplus_payments_total 1\n"), "{metrics}");
    assert_balance(&world.books).await;
}
