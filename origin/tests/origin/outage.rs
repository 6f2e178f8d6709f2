//! The database is killed and started again under load: nothing that was answered is lost, and nothing is done
//! twice. An embedded database dies with its process, so there it is the shop that is killed.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::books::{Books, Kind};
use crate::client::{CARD, Call, order, parse, request};
use crate::process::Program;

/// A server that this test may kill.
struct Server {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    _folder: TempDir,
}

impl Server {
    /// Starts one of the kind of the environment, and says where it is.
    fn start(kind: &str) -> (Self, String) {
        let folder = TempDir::new().unwrap();
        // The server is another user.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let xtask = std::env::var("ONCEGATE_XTASK").expect("ONCEGATE_XTASK, which starts servers");
        let mut child = Command::new(xtask)
            .args(["database", kind, "--state-dir"])
            .arg(folder.path().join("server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self {
            child,
            orders,
            answers,
            _folder: folder,
        };
        let url = server.answer()["url"].as_str().unwrap().to_owned();
        (server, url)
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
        let answer = self.answer();
        assert!(answer.get("error").is_none(), "{answer}");
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        // The server's name is told between the answers, as what is done for it.
        while !line.starts_with('{') {
            line.clear();
            assert_ne!(
                self.answers.read_line(&mut line).unwrap(),
                0,
                "it has ended"
            );
        }
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It kills the server and ends when its input ends.
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}

const CALLERS: usize = 8;
const OUTAGES: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l3_nothing_is_lost_or_done_twice_when_the_database_is_killed_under_load() {
    let mut server = match Kind::of_environment() {
        Kind::Sqlite => None,
        Kind::MySql => Some(Server::start("mysql")),
        Kind::Postgres => Some(Server::start("postgres")),
    };
    let books = match &server {
        None => Books::in_a_file(),
        Some((_, url)) => Books::on(url).await,
    };
    let mut program = Program::start(&books, &[]);
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| tokio::spawn(buy(program.address, caller, over.clone())))
        .collect();
    for _ in 0..OUTAGES {
        sleep(Duration::from_millis(400)).await;
        match &mut server {
            Some((server, _)) => {
                server.tell("kill");
                server.tell("start");
            }
            None => program.kill_and_start_again(&books),
        }
    }
    sleep(Duration::from_millis(400)).await;
    over.store(true, Ordering::SeqCst);
    let mut bought = 0;
    for caller in callers {
        bought += caller.await.unwrap();
    }
    assert!(bought > 20, "{bought}");
    // Each caller went on until its last order was answered, so there is none that nobody knows of.
    assert_eq!(books.executed().await, bought);
    assert_eq!(books.stock("beans").await, 5000 - bought);
    assert_eq!(books.rows().await, bought);
}

/// Orders beans, each order until it is executed, and says how many orders that were.
async fn buy(address: SocketAddr, caller: usize, over: Arc<AtomicBool>) -> i64 {
    let mut bought = 0;
    while !over.load(Ordering::SeqCst) {
        let call = Call::order(&format!("caller-{caller}-order-{bought}"));
        let call = call.with_body(order(&[("beans", 1)], CARD));
        while !is_executed(address, &call).await {
            sleep(Duration::from_millis(20)).await;
        }
        bought += 1;
    }
    bought
}

/// Whether an attempt was answered, and with the order. A shop that does not listen, or hangs up, says
/// nothing.
async fn is_executed(address: SocketAddr, call: &Call) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return false;
    };
    let headers = call.headers_for(&call.path);
    let bytes = request("POST", &call.path, &headers, call.body.as_bytes());
    let mut answer = Vec::new();
    if stream.write_all(&bytes).await.is_err() || stream.read_to_end(&mut answer).await.is_err() {
        return false;
    }
    if answer.is_empty() {
        return false;
    }
    let answer = parse(&answer);
    match answer.outcome() {
        Some("executed") => true,
        Some("not_executed" | "in_progress") | None => false,
        Some(outcome) => panic!("{outcome}: {answer:?}"),
    }
}
