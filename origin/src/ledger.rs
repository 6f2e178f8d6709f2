//! The ledger: makes an effect happen once per key (rules L2 to L6).
//!
//! **Invariant: a key's row, its effect and its stored answer are committed together or not at
//! all.** The atomicity comes from one database transaction; that only one of several attempts gets
//! through comes from the unique index over `(key, slot)`. What a row means to an attempt is decided
//! by [`oncegate_core::ledger`].
//!
//! ```text
//! begin ─ claim ─ look up ─ row in the way ──────────────────────────▶ roll back, answer with it
//!                    └ free ─ effect ─ executed ─ settle ─ commit ───▶ its answer
//!                                    ├ refused ─ roll back, then ────▶ begin ─ claim ─ look up ─ settle ─ commit
//!                                    └ failed ── roll back ──────────▶ nothing was done
//! ```
//!
//! The claim comes first: it is an insert, so a second attempt waits for the first one's end inside
//! its own insert and then meets the row. A look-up before the insert would let both find nothing.

use std::error::Error;
use std::fmt;
use std::pin::Pin;

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::ledger::{Decision, Recorded, Row, State, decide, settled};

use crate::clock::now_ms;
use crate::sql::{self, Connection, Database, Patience, Transaction};

/// The future of an effect, which borrows the transaction it runs in.
pub type EffectFuture<'t> = Pin<Box<dyn Future<Output = Result<Effect, Failure>> + Send + 't>>;

/// Who asks for what.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the three values an attempt consists of"
)]
pub struct Call {
    /// The operation.
    pub key: Key,
    /// What is asked for.
    pub fingerprint: Fingerprint,
    /// Who made the key.
    pub kind: KeyKind,
}

/// An answer as it is stored: a replay gives these bytes again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "an answer consists of these parts"
)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers that belong to the answer itself.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What an effect came to.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "an effect happens or it does not")]
pub enum Effect {
    /// It happened: commit it with this answer.
    Executed(Answer),
    /// The business says no: undo whatever was done, and remember this answer.
    Refused(Answer),
}

/// What an attempt hears. Everything here is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a verdict that a caller forgets must be a compile error"
)]
pub enum Verdict {
    /// Cancelled before it had an effect.
    Cancelled,
    /// Executed, now or earlier.
    Executed(Answer),
    /// The key was used for something else.
    OtherFingerprint(Recorded),
    /// Refused, now or earlier.
    Refused(Answer),
}

/// Why there is no verdict.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an outcome that a caller forgets must be a compile error"
)]
pub enum Failure {
    /// Another attempt holds this very key, and the wait is over.
    InProgress,
    /// This attempt did nothing, and will do nothing: it was rolled back, or never began.
    NotExecuted(Box<dyn Error + Send + Sync>),
    /// Nobody here can tell.
    Unknown(Box<dyn Error + Send + Sync>),
}

/// The ledger over a database.
#[derive(Clone, Debug)]
pub struct Ledger(Database);

impl Ledger {
    /// A ledger in this database.
    pub fn new(database: Database) -> Self {
        Self(database)
    }

    /// Runs `effect` if this key allows it, in one transaction with the key's row.
    ///
    /// `effect` may only act through the connection that it is given: that is what is rolled back.
    ///
    /// # Errors
    ///
    /// [`Failure`] says whether it is sure that nothing was done.
    pub async fn once<F>(&self, call: &Call, effect: F) -> Result<Verdict, Failure>
    where
        F: for<'t> FnOnce(&'t mut Connection) -> EffectFuture<'t> + Send,
    {
        let mut patience = Patience::default();
        let mut transaction = match self.claim(call, &mut patience).await? {
            Claim::Free(transaction) => transaction,
            Claim::Settled(verdict) => return Ok(verdict),
        };
        match effect(&mut transaction).await {
            Ok(Effect::Executed(answer)) => {
                settle(transaction, call, State::Executed, &answer).await?;
                Ok(Verdict::Executed(answer))
            }
            Ok(Effect::Refused(answer)) => {
                transaction.rollback().await.map_err(unknown)?;
                self.refuse_within(&mut patience, call, answer).await
            }
            Err(failure) => {
                transaction.rollback().await.map_err(unknown)?;
                Err(failure)
            }
        }
    }

    /// Stores a refusal in a transaction of its own, so that an earlier attempt that arrives late
    /// finds it and does nothing (L4). If another attempt came first, its row is the answer.
    ///
    /// # Errors
    ///
    /// [`Failure`]: the refusal is not stored, and must not be told to anyone.
    pub async fn refuse(&self, call: &Call, answer: Answer) -> Result<Verdict, Failure> {
        self.refuse_within(&mut Patience::default(), call, answer)
            .await
    }

    async fn refuse_within(
        &self,
        patience: &mut Patience,
        call: &Call,
        answer: Answer,
    ) -> Result<Verdict, Failure> {
        match self.claim(call, patience).await? {
            Claim::Settled(verdict) => Ok(verdict),
            Claim::Free(transaction) => {
                settle(transaction, call, State::Refused, &answer).await?;
                Ok(Verdict::Refused(answer))
            }
        }
    }

    /// What became of a key. `None`: nothing yet, which proves nothing (L6).
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn probe(&self, call: &Call) -> Result<Option<State>, Failure> {
        let mut reader = self.0.readers().acquire().await.map_err(unknown)?;
        let rows = sql::ledger::rows(&mut reader, call)
            .await
            .map_err(unknown)?;
        Ok(settled(&rows, &call.fingerprint))
    }

    /// Makes sure that this key never has an effect, unless it had one already (L6).
    ///
    /// # Errors
    ///
    /// [`Failure`]: an effect is still possible.
    pub async fn cancel(&self, call: &Call) -> Result<State, Failure> {
        let (mut transaction, rows) = self.hold(call, &mut Patience::default()).await?;
        if let Some(state) = settled(&rows, &call.fingerprint) {
            return Ok(state);
        }
        sql::ledger::settle(&mut transaction, call, State::Cancelled, None).await?;
        transaction.commit().await.map_err(unknown)?;
        Ok(State::Cancelled)
    }

    async fn claim(&self, call: &Call, patience: &mut Patience) -> Result<Claim, Failure> {
        let (transaction, rows) = self.hold(call, patience).await?;
        Ok(match decide(&rows, &call.fingerprint, call.kind) {
            Decision::Answer(row) => Claim::Settled(row.into()),
            Decision::Free => Claim::Free(transaction),
            Decision::OtherFingerprint(recorded) => {
                Claim::Settled(Verdict::OtherFingerprint(recorded))
            }
        })
    }

    /// Takes the key and reads its rows. They cannot change before the transaction ends.
    async fn hold(
        &self,
        call: &Call,
        patience: &mut Patience,
    ) -> Result<(Transaction, Vec<Row<Answer>>), Failure> {
        let mut transaction = self.0.begin(patience).await.map_err(Failure::NotExecuted)?;
        sql::ledger::claim(&mut transaction, call, now_ms())
            .await
            .map_err(held)?;
        let rows = sql::ledger::rows(&mut transaction, call).await?;
        Ok((transaction, rows))
    }
}

enum Claim {
    Free(Transaction),
    Settled(Verdict),
}

async fn settle(
    mut transaction: Transaction,
    call: &Call,
    state: State,
    answer: &Answer,
) -> Result<(), Failure> {
    sql::ledger::settle(&mut transaction, call, state, Some(answer)).await?;
    // A commit that reports an error may have reached the disk all the same.
    transaction.commit().await.map_err(unknown)
}

/// Why the key could not be claimed. Whoever waited for its row in vain knows that another attempt is
/// at work on this very operation. SQLite locks the whole file when a transaction begins, so there
/// nobody waits any more at this point; a database that locks rows makes its duplicates wait here.
fn held(error: sqlx::Error) -> Failure {
    match sql::is_busy(&error) {
        true => Failure::InProgress,
        false => error.into(),
    }
}

fn unknown(error: sqlx::Error) -> Failure {
    Failure::Unknown(error.into())
}

impl From<&Row<Answer>> for Verdict {
    fn from(row: &Row<Answer>) -> Self {
        match row.state {
            State::Cancelled => Self::Cancelled,
            State::Executed => Self::Executed(row.answer.clone()),
            State::Refused => Self::Refused(row.answer.clone()),
        }
    }
}

/// For errors before the commit: the transaction rolls back when it is dropped, so nothing was done.
///
/// The exception is a unique index of the business that the effect ran into: somebody has done this
/// before, outside the ledger, and *not executed* would be a lie about the operation.
impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        if sql::is_unique_violation(&error) {
            Self::Unknown(error.into())
        } else {
            Self::NotExecuted(error.into())
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InProgress => f.write_str("another attempt holds the key"),
            Self::NotExecuted(cause) => write!(f, "nothing was done: {cause}"),
            Self::Unknown(cause) => write!(f, "it is not known what was done: {cause}"),
        }
    }
}

impl Error for Failure {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::ConnectOptions;
    use sqlx::sqlite::SqliteConnectOptions;
    use tempfile::TempDir;

    use super::*;

    /// SQLite never makes a claim wait, so this one is made outside a transaction.
    #[tokio::test]
    async fn l5_a_claim_that_waited_in_vain_for_the_row_is_in_progress() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("shop.sqlite");
        let url = format!("sqlite:{}", file.display());
        let database = Database::open(&url).await.unwrap();
        let _held = database.begin(&mut Patience::default()).await.unwrap();
        let options = SqliteConnectOptions::new()
            .filename(file)
            .busy_timeout(Duration::ZERO);
        let mut other = options.connect().await.unwrap();
        let call = Call {
            key: Key::parse("k").unwrap(),
            fingerprint: Fingerprint::parse(&"a".repeat(64)).unwrap(),
            kind: KeyKind::Client,
        };
        let error = sql::ledger::claim(&mut other, &call, 0).await.unwrap_err();
        assert!(matches!(held(error), Failure::InProgress));
    }
}
