//! A ledger with effects of the tests' own: taking a mug off the shelf.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::{Key, KeyKind};
use oncegate_origin::ledger::{Answer, Call, Effect, EffectFuture, Failure, Ledger, Verdict};
use oncegate_origin::sql::{Connection, Database};
use sqlx::query;

use crate::shop::Books;

pub(crate) struct Fixture {
    pub(crate) books: Books,
    pub(crate) ledger: Ledger,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let books = Books::new();
        let ledger = Ledger::new(Database::open(&books.url()).await.unwrap());
        Self { books, ledger }
    }

    /// A ledger over the same file, as another process has it.
    pub(crate) async fn another_ledger(&self) -> Ledger {
        Ledger::new(Database::open(&self.books.url()).await.unwrap())
    }

    /// How often the effect happened.
    pub(crate) async fn effects(&self) -> i64 {
        100 - self.books.stock("mug").await
    }

    pub(crate) async fn rows(&self) -> i64 {
        self.books.rows().await
    }

    pub(crate) async fn execute(&self, call: &Call) -> Verdict {
        self.ledger
            .once(call, |connection| take(connection, Ok(executed("first"))))
            .await
            .unwrap()
    }

    pub(crate) async fn refuse(&self, call: &Call, text: &str) -> Verdict {
        let effect = Ok(Effect::Refused(answer(text)));
        self.ledger
            .once(call, |connection| take(connection, effect))
            .await
            .unwrap()
    }

    /// An attempt that must not come to its effect.
    pub(crate) async fn replay(&self, call: &Call) -> Verdict {
        self.ledger
            .once(call, |_| panic!("the effect ran again"))
            .await
            .unwrap()
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
pub(crate) fn take(connection: &mut Connection, end: Result<Effect, Failure>) -> EffectFuture<'_> {
    Box::pin(async move {
        query("UPDATE products SET stock = stock - 1 WHERE sku = 'mug'")
            .execute(connection)
            .await?;
        end
    })
}
