//! A ledger with effects of the tests' own: taking a mug off the shelf.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::{Key, KeyKind};
use oncegate_origin::ledger::{Answer, Call, Effect, Failure, Ledger, Verdict};
use oncegate_origin::sql::{Database, Dialect, Statements};

use sqlx::Connection as _;

use crate::books::Books;

pub(crate) struct Fixture<DB: Dialect> {
    pub(crate) books: Books,
    pub(crate) ledger: Ledger<DB>,
}

/// Runs the body with a fixture, on the database that the environment names. In the body, `DB` is
/// that database.
macro_rules! on_database {
    (|$fixture:ident| $body:block) => {{
        async fn on<DB: oncegate_origin::sql::Dialect>(
            $fixture: crate::fixture::Fixture<DB>,
        ) $body
        let kind = crate::books::Kind::of_environment();
        let books = crate::books::Books::new().await;
        crate::books::with_database!(kind, DB => {
            on(crate::fixture::Fixture::<DB>::on(books).await).await;
        });
    }};
}

pub(crate) use on_database;

impl<DB: Dialect> Fixture<DB> {
    pub(crate) async fn on(books: Books) -> Self {
        let database = Database::<DB>::open(&books.url()).await.unwrap();
        let mut connection = DB::Connection::connect(&books.url()).await.unwrap();
        for sql in [
            "CREATE TABLE mugs (id BIGINT PRIMARY KEY, stock BIGINT NOT NULL)",
            "INSERT INTO mugs (id, stock) VALUES (1, 100)",
        ] {
            connection.run(sql, &[]).await.unwrap();
        }
        let ledger = Ledger::new(database);
        Self { books, ledger }
    }

    /// A ledger over the same file, as another process has it.
    pub(crate) async fn another_ledger(&self) -> Ledger<DB> {
        ledger(&self.books.url()).await
    }

    /// How often the effect happened.
    pub(crate) async fn effects(&self) -> i64 {
        100 - self
            .books
            .number("SELECT stock FROM mugs WHERE id = 1")
            .await
    }

    pub(crate) async fn rows(&self) -> i64 {
        self.books.rows().await
    }

    pub(crate) async fn execute(&self, call: &Call) -> Verdict {
        self.ledger
            .once(call, async move |connection: &mut DB::Connection| {
                take::<DB>(connection, Ok(executed("first"))).await
            })
            .await
            .unwrap()
    }

    pub(crate) async fn refuse(&self, call: &Call, text: &str) -> Verdict {
        let refused = Effect::Refused(answer(text));
        self.ledger
            .once(call, async move |connection: &mut DB::Connection| {
                take::<DB>(connection, Ok(refused.clone())).await
            })
            .await
            .unwrap()
    }

    /// An attempt that must not come to its effect.
    pub(crate) async fn replay(&self, call: &Call) -> Verdict {
        self.ledger.once(call, never::<DB>).await.unwrap()
    }
}

pub(crate) fn call(key: &str, fingerprint: char, kind: KeyKind) -> Call {
    Call {
        key: Key::parse(key).unwrap(),
        fingerprint: Fingerprint::parse(&fingerprint.to_string().repeat(64)).unwrap(),
        kind,
    }
}

pub(crate) fn answer(text: &str) -> Answer {
    Answer {
        status: 299,
        headers: vec![
            ("content-type".into(), "text/plain; a=\": \"".into()),
            ("location".into(), "/x".into()),
        ],
        body: [text.as_bytes(), b"\0\xff\r\n"].concat(),
    }
}

pub(crate) fn executed(text: &str) -> Effect {
    Effect::Executed(answer(text))
}

/// Takes a mug off the shelf, then comes to this end.
pub(crate) async fn take<DB: Dialect>(
    connection: &mut DB::Connection,
    end: Result<Effect, Failure>,
) -> Result<Effect, Failure> {
    let sql = "UPDATE mugs SET stock = stock - 1 WHERE id = 1";
    connection.run(sql, &[]).await?;
    end
}

/// An effect that must not be come to.
pub(crate) async fn never<DB: Dialect>(_: &mut DB::Connection) -> Result<Effect, Failure> {
    panic!("the effect ran again")
}

async fn ledger<DB: Dialect>(url: &str) -> Ledger<DB> {
    Ledger::new(Database::open(url).await.unwrap())
}
