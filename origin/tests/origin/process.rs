//! The program itself: started, asked, stopped, killed.

use std::io::{BufRead, BufReader};
use std::net::{self, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::books::Books;
use crate::client::{Call, SECRETS, exchange, parse, request};
use crate::shop::address;

const PROGRAM: &str = env!("CARGO_BIN_EXE_oncegate-origin");

pub(crate) struct Program {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Program {
    /// With more arguments than every test needs.
    pub(crate) fn start(books: &Books, arguments: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.stderr(Stdio::null());
        Self::run(&mut command, arguments, books, address())
    }

    /// As a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a program that runs");
        self.child.wait().expect("a program that was killed");
    }

    /// Dies in the middle of whatever it does, and comes back at the same address.
    pub(crate) fn kill_and_start_again(&mut self, books: &Books) {
        self.kill();
        let mut command = Command::new(PROGRAM);
        *self = Self::run(command.stderr(Stdio::null()), &[], books, self.address);
    }

    fn run(command: &mut Command, arguments: &[&str], books: &Books, listen: SocketAddr) -> Self {
        let mut child = command
            .args(["serve", "--faults", "--listen", &listen.to_string()])
            .args(["--database", &books.url()])
            .args(arguments)
            .env("ONCEGATE_SIGNING_SECRETS", SECRETS)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .expect(&line);
        Self {
            address: address.parse().expect("an address"),
            child,
        }
    }

    /// Begins an order that stays inside its transaction until the program ends.
    async fn open_slow_order(&self, books: &Books) -> TcpStream {
        let faults = request("PUT", "/faults", &[], br#"[{"delay_within": 60000}]"#);
        assert_eq!(parse(&exchange(self.address, &faults).await).status, 204);
        let mut stream = TcpStream::connect(self.address)
            .await
            .expect("a listening shop");
        stream
            .write_all(&Call::order("k").request())
            .await
            .expect("a shop that reads");
        books.until_locked().await;
        stream
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(kill.expect("kill").success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// After whatever happened to the slow order: nothing is left of it, and the key can be used.
async fn nothing_was_left(books: &Books) {
    assert_eq!(books.executed().await, 0);
    assert_eq!(books.rows().await, 0);
    assert_eq!(books.stock("mug").await, 100);
    has_one_order_after_a_restart(books).await;
}

async fn has_one_order_after_a_restart(books: &Books) {
    let again = Program::start(books, &[]);
    let response = parse(&exchange(again.address, &Call::order("k").request()).await);
    assert_eq!(
        (response.status, response.outcome()),
        (201, Some("executed"))
    );
    assert_eq!(books.executed().await, 1);
}

#[tokio::test]
async fn l3_a_process_killed_inside_the_transaction_leaves_nothing() {
    let books = Books::new().await;
    let mut program = Program::start(&books, &[]);
    let _open = program.open_slow_order(&books).await;
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    nothing_was_left(&books).await;
}

#[tokio::test]
async fn l3_a_process_killed_after_the_commit_leaves_the_order() {
    let books = Books::new().await;
    let mut program = Program::start(&books, &[]);
    let faults = request("PUT", "/faults", &[], br#"["drop_after_commit"]"#);
    exchange(program.address, &faults).await;
    assert_eq!(
        exchange(program.address, &Call::order("k").request()).await,
        b""
    );
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    has_one_order_after_a_restart(&books).await;
}

#[tokio::test]
async fn l3_a_shutdown_ends_within_two_seconds_and_halves_nothing() {
    for signal in ["-TERM", "-INT"] {
        let books = Books::new().await;
        let mut program = Program::start(&books, &[]);
        let _open = program.open_slow_order(&books).await;
        let asked = Instant::now();
        program.signal(signal);
        assert!(program.child.wait().unwrap().success());
        assert!(
            asked.elapsed() < Duration::from_secs(2),
            "{:?}",
            asked.elapsed()
        );
        nothing_was_left(&books).await;
    }
}

#[tokio::test]
async fn a_shutdown_lets_short_calls_end() {
    let books = Books::new().await;
    let mut program = Program::start(&books, &[]);
    let faults = request("PUT", "/faults", &[], br#"[{"delay_within": 500}]"#);
    exchange(program.address, &faults).await;
    let order = Call::order("k").request();
    let (answer, ()) = tokio::join!(exchange(program.address, &order), async {
        books.until_locked().await;
        program.signal("-TERM");
    });
    assert_eq!(parse(&answer).status, 201);
    assert!(program.child.wait().unwrap().success());
    assert_eq!(books.executed().await, 1);
}

/// There are more connections than the program may have files.
#[tokio::test]
async fn connections_that_cannot_be_accepted_are_logged() {
    let books = Books::new().await;
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 32 && exec \"$0\" \"$@\"", PROGRAM]);
    let mut program = Program::run(limited.stderr(Stdio::piped()), &[], &books, address());
    let stderr = program.child.stderr.take().unwrap();
    let (say, said) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines() {
            let _ = say.send(line.unwrap());
        }
    });
    let connect = |_| net::TcpStream::connect(program.address).unwrap();
    let _open: Vec<_> = (0..40).map(connect).collect();
    let line = said.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(line.contains("cannot accept connections"), "{line}");
    // Once, and not every time that it is tried again.
    let more = said.recv_timeout(Duration::from_millis(300));
    assert_eq!(more, Err(mpsc::RecvTimeoutError::Timeout));
}

/// As a server and its relay on an empty database. They are begun before any is waited for.
#[tokio::test]
async fn programs_that_begin_at_once_make_the_tables_once() {
    let books = Books::new().await;
    let begun = [(); 8].map(|()| {
        let mut program = Command::new(PROGRAM);
        program.args(["migrate", "--database", &books.url()]);
        program.stderr(Stdio::piped()).spawn().unwrap()
    });
    for program in begun {
        let output = program.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stderr}");
    }
}

/// The tables of another build hear what to do, and which account says so; and they stay as they are, even those accounts that
/// they do not have.
#[tokio::test]
async fn tables_of_another_build_are_told_with_what_to_do_and_left_as_they_are() {
    let earlier = "an earlier build made its tables, and they cannot be brought up to date";
    let other = "another build made its tables";
    for (harm, told, account) in [
        (
            "UPDATE shop_migrations SET checksum =
                 (SELECT checksum FROM idempotency_ledger_migrations WHERE version = 1)
             WHERE version = 1",
            earlier,
            "shop_migrations",
        ),
        (
            "INSERT INTO shop_migrations (version, description, success, checksum, execution_time)
                 SELECT 99, 'later', success, checksum, 1 FROM shop_migrations WHERE version = 1",
            other,
            "shop_migrations",
        ),
        // The library's tables were in the ledger's account once.
        (
            "INSERT INTO idempotency_ledger_migrations
                 (version, description, success, checksum, execution_time)
                 SELECT version + 1, 'outbox', success, checksum, 1 FROM idempotency_beside_migrations
                 WHERE version < 3",
            other,
            "idempotency_ledger_migrations",
        ),
    ] {
        let books = Books::new().await;
        let run = |command| {
            let mut program = Command::new(PROGRAM);
            program.args([command, "--database", &books.url()]);
            program.output().unwrap()
        };
        assert!(run("migrate").status.success());
        books.run(harm).await;
        for lost in ["DROP TABLE idempotency_beside_migrations", "DROP TABLE fences"] {
            books.run(lost).await;
        }
        let before = books.tables().await;
        let output = run("migrate");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{harm}");
        for part in [told, account, "`cargo xtask up --fresh`"] {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
        assert_eq!(books.tables().await, before, "{harm}");
    }
}

#[test]
fn a_wrong_start_says_what_to_do() {
    let refuses = |secrets: &str, database: &str, message: &str| {
        let output = Command::new(PROGRAM)
            .args([
                "serve",
                "--database",
                database,
                "--signing-secrets",
                secrets,
            ])
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && stderr.contains(message),
            "{stderr}"
        );
        assert!(!stderr.contains(secrets), "a secret is shown: {stderr}");
    };
    refuses(
        "a=short",
        "sqlite:x",
        "secret 1: a secret has at least 16 characters",
    );
    let admin = Command::new(PROGRAM)
        .args([
            "serve",
            "--database",
            "sqlite:x",
            "--signing-secrets",
            SECRETS,
        ])
        .env("ONCEGATE_ADMIN_SECRETS", "a=brief")
        .output()
        .unwrap();
    let stderr = String::from_utf8(admin.stderr).unwrap();
    assert!(
        stderr.contains("ONCEGATE_ADMIN_SECRETS: secret 1:"),
        "{stderr}"
    );
    assert!(!stderr.contains("brief"), "a secret is shown: {stderr}");
    refuses(
        SECRETS,
        "sqlite:/nowhere/shop.sqlite",
        "cannot open the database sqlite:/nowhere",
    );
    refuses(
        SECRETS,
        "mysql://shop:hidden@127.0.0.1:1/shop",
        "cannot open the database mysql://shop@127.0.0.1:1/shop",
    );
    refuses(
        SECRETS,
        "oracle:x",
        "its URL begins with sqlite:, mysql:// or postgres://",
    );
}
