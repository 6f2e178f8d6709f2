//! Effects outside the database, such as a payment at a provider (rule L7).
//!
//! **Invariant: before a provider is called, a row says so, and under which name it is called; the row
//! ends only with the provider's word.** No transaction can hold both the database and a provider, so
//! between the two a process may die. What makes that safe is the name: every call of one operation
//! has the same, and a provider does what it is asked for under one name once. So whoever finds the row
//! *started* calls again and takes the answer.
//!
//! ```text
//! begin ─ claim ─ look up ─ started ─ commit ──▶ call ──▶ begin ─ lock the row ─ effect ─ settle ─ commit
//!                              ▲                  │
//!                              └── crash, error ──┘  the next duplicate, or a recovery, calls again
//! ```
//!
//! While somebody is at it (`called_until`), others wait instead of calling as well; if two call all
//! the same, the name keeps that from doing harm, and the row's lock lets one of them write.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use oncegate_core::ledger::{Decision, State, decide, provider_key};
use tokio::time::{sleep, timeout};

use super::{Call, Claim, Effect, Failure, Ledger, Verdict, again, commit, unknown};
use crate::clock::now_ms;
use crate::sql::ledger::{self as rows, Open, Started};
use crate::sql::{Dialect, Patience, Transaction};

/// What a provider's client says when it has no answer.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The longest memo that is stored.
pub const MAX_MEMO: usize = 64 * 1024;

/// How often a duplicate looks whether another process has the provider's answer.
const POLL: Duration = Duration::from_millis(100);

/// The name under which a provider is called, always the same for one operation: its idempotency key.
/// It is made of the key and the fingerprint, so that another card under the same order number is
/// another payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderKey(String);

impl ProviderKey {
    /// The name under which the effect of this call is asked for.
    pub fn of(call: &Call) -> Self {
        Self(provider_key(&call.key, &call.fingerprint))
    }

    /// 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a provider says when it is asked what became of a call.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "it knows the call or it does not")]
pub enum Known<T> {
    /// It knows the call: this was its answer.
    Answer(T),
    /// It has never heard of the call. That counts only when no call can be under way any more.
    Nothing,
}

/// How long a provider may take.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "two durations")]
pub struct Times {
    /// How long a call is waited for. 30 s.
    pub call: Duration,
    /// How long after the last call one may still arrive at the provider. 15 min.
    pub settle_after: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(30),
            settle_after: Duration::from_mins(15),
        }
    }
}

/// An operation of which nobody knows what the provider did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unfinished {
    /// The operation.
    pub call: Call,
    /// What [`Ledger::outside`] was given to make the call again with.
    pub memo: Vec<u8>,
    pub(crate) called_until: u64,
}

enum Begun {
    /// This attempt makes the call of this number.
    Call(i64),
    Settled(Verdict),
    /// Another process is at it.
    Wait,
}

impl<DB: Dialect> Ledger<DB> {
    /// The same ledger with other times for providers.
    #[must_use]
    pub fn with_times(self, times: Times) -> Self {
        Self { times, ..self }
    }

    /// Runs an effect outside the database, at most once, and then the one inside that records it.
    ///
    /// `provider` makes the call under the name that it is given. It may be called again under that name,
    /// by this process or another one, and must then have no second effect. An error means that there
    /// is no answer. `memo` is kept with the row while there is none: whatever a recovery needs to make the
    /// same call. `record` is like the effect of [`once`](Self::once), and knows the answer; if
    /// it refuses, because the provider declined, that is what is stored.
    ///
    /// # Errors
    ///
    /// [`Failure::Unknown`] once the provider may have been called.
    pub async fn outside<T, P, F>(
        &self,
        call: &Call,
        memo: &[u8],
        provider: P,
        record: F,
    ) -> Result<Verdict, Failure>
    where
        P: AsyncFn(ProviderKey) -> Result<T, BoxError>,
        F: AsyncFn(&mut DB::Connection, &T) -> Result<Effect, Failure>,
    {
        check_memo(memo)?;
        let mut patience = Patience::default();
        let _turn = self.turn(call, &mut patience).await?;
        let number = match self.start(call, memo, &mut patience).await? {
            Begun::Call(number) => number,
            Begun::Settled(verdict) => return Ok(verdict),
            Begun::Wait => return Err(Failure::InProgress),
        };
        let ended = match timeout(self.times.call, provider(ProviderKey::of(call))).await {
            Ok(Ok(answer)) => self.record(call, &answer, &record).await,
            Ok(Err(error)) => Err(Failure::Unknown(error)),
            Err(_) => Err(Failure::Unknown("the provider does not answer".into())),
        };
        if ended.is_err() {
            self.let_go(call, number).await;
        }
        ended
    }

    /// Asks a provider what became of an operation instead of calling it again, where the call cannot be
    /// made again. If the provider knows nothing of it, and `settle_after` has passed since the last
    /// call, the row is taken back: nothing was done.
    ///
    /// # Errors
    ///
    /// [`Failure::NotExecuted`] if nothing was done and nothing will be; otherwise nobody can tell yet.
    pub async fn ask_outside<T, A, F>(
        &self,
        call: &Call,
        ask: A,
        record: F,
    ) -> Result<Verdict, Failure>
    where
        A: AsyncFn(ProviderKey) -> Result<Known<T>, BoxError>,
        F: AsyncFn(&mut DB::Connection, &T) -> Result<Effect, Failure>,
    {
        let mut patience = Patience::default();
        let _turn = self.turn(call, &mut patience).await?;
        let started = match self.claim(call, &mut patience).await? {
            Claim::Settled(verdict) => return Ok(verdict),
            Claim::Free(_) => return Err(Failure::NotExecuted("nothing was begun".into())),
            Claim::Started(started) => started,
        };
        let asked_ms = now_ms();
        if started.called_until > asked_ms || started.fingerprint != call.fingerprint {
            return Err(Failure::InProgress);
        }
        let ended = match timeout(self.times.call, ask(ProviderKey::of(call))).await {
            Ok(Ok(Known::Answer(answer))) => self.record(call, &answer, &record).await,
            Ok(Ok(Known::Nothing)) => self.take_back(call, &started, asked_ms).await,
            Ok(Err(error)) => Err(Failure::Unknown(error)),
            Err(_) => Err(Failure::Unknown("the provider does not answer".into())),
        };
        if ended.is_err() {
            // The others have their turn first.
            self.let_go(call, started.calls).await;
        }
        ended
    }

    /// Operations that somebody began and nobody is at: for a recovery, which
    /// gives each to [`outside`](Self::outside) or [`ask_outside`](Self::ask_outside). Those that were
    /// looked into longest ago come first, and `after` is where the last page ended: so one of which nobody can say
    /// anything keeps no other from its turn.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn unfinished(
        &self,
        after: Option<&Unfinished>,
        limit: u32,
    ) -> Result<Vec<Unfinished>, sqlx::Error> {
        let mut reader = self.database.read().await?;
        rows::unfinished::<DB>(&mut reader, now_ms(), after, limit).await
    }

    async fn start(
        &self,
        call: &Call,
        memo: &[u8],
        patience: &mut Patience,
    ) -> Result<Begun, Failure> {
        loop {
            let begun = again!(patience, self.try_to_start(call, memo, patience))?;
            let waits = matches!(begun, Begun::Wait);
            if !waits || patience.wait(sleep(POLL)).await.is_none() {
                return Ok(begun);
            }
        }
    }

    async fn try_to_start(
        &self,
        call: &Call,
        memo: &[u8],
        patience: &mut Patience,
    ) -> Result<Begun, Failure> {
        let claimed = self.claim(call, patience).await?;
        let now = now_ms();
        let until = now.saturating_add(u64::try_from(self.times.call.as_millis()).unwrap_or(0));
        match claimed {
            Claim::Settled(verdict) => Ok(Begun::Settled(verdict)),
            Claim::Free(mut transaction) => {
                let name = ProviderKey::of(call);
                rows::start::<DB>(&mut transaction, call, name.as_str(), memo, [now, until])
                    .await?;
                commit(transaction).await?;
                Ok(Begun::Call(1))
            }
            Claim::Started(started) if started.fingerprint != call.fingerprint => {
                Err(Failure::InProgress)
            }
            Claim::Started(started) if started.called_until > now => Ok(Begun::Wait),
            Claim::Started(started) => {
                let mut transaction = self.begin(patience).await?;
                let calls = started.calls;
                if !rows::call_again::<DB>(&mut transaction, call, calls, [now, until]).await? {
                    return Ok(Begun::Wait);
                }
                commit(transaction).await?;
                Ok(Begun::Call(calls + 1))
            }
        }
    }

    /// Writes down what the provider said, whoever asked it: with one name, all of its answers agree.
    async fn record<T, F>(&self, call: &Call, answer: &T, record: &F) -> Result<Verdict, Failure>
    where
        F: AsyncFn(&mut DB::Connection, &T) -> Result<Effect, Failure>,
    {
        let mut patience = Patience::default();
        let ended = again!(
            &mut patience,
            self.try_to_record(call, answer, record, &mut patience)
        );
        // The provider was called. Whatever failed here, *not executed* would be a lie.
        ended.map_err(|failure| match failure {
            Failure::NotExecuted(cause) => Failure::Unknown(cause),
            other => other,
        })
    }

    async fn try_to_record<T, F>(
        &self,
        call: &Call,
        answer: &T,
        record: &F,
        patience: &mut Patience,
    ) -> Result<Verdict, Failure>
    where
        F: AsyncFn(&mut DB::Connection, &T) -> Result<Effect, Failure>,
    {
        let mut transaction = self.begin(patience).await?;
        if !rows::lock_started::<DB>(&mut transaction, call).await? {
            return recorded_by_another(&mut transaction, call).await;
        }
        match record(&mut transaction, answer).await? {
            Effect::Executed(answer) => {
                answer.check_size()?;
                let settled = (State::Executed, Some(&answer));
                rows::settle::<DB>(&mut transaction, call, Open::Started, settled).await?;
                commit(transaction).await?;
                Ok(Verdict::Executed(answer))
            }
            Effect::Refused(answer) => {
                answer.check_size()?;
                transaction.rollback().await?;
                let mut transaction = self.begin(patience).await?;
                if !rows::lock_started::<DB>(&mut transaction, call).await? {
                    return recorded_by_another(&mut transaction, call).await;
                }
                let settled = (State::Refused, Some(&answer));
                rows::settle::<DB>(&mut transaction, call, Open::Started, settled).await?;
                commit(transaction).await?;
                Ok(Verdict::Refused(answer))
            }
        }
    }

    async fn take_back(
        &self,
        call: &Call,
        started: &Started,
        asked_ms: u64,
    ) -> Result<Verdict, Failure> {
        let settle_after = u64::try_from(self.times.settle_after.as_millis()).unwrap_or(u64::MAX);
        if asked_ms.saturating_sub(started.called_at) < settle_after {
            let too_early = "the provider knows nothing of it yet, and a call may be under way";
            return Err(Failure::Unknown(too_early.into()));
        }
        let mut transaction = self.begin(&mut Patience::default()).await?;
        if !rows::take_back::<DB>(&mut transaction, call, started.calls).await? {
            return Err(Failure::InProgress);
        }
        transaction.commit().await.map_err(unknown)?;
        let cause = "the provider was asked in time, and knows nothing of it";
        Err(Failure::NotExecuted(cause.into()))
    }

    /// Lets the next one try at once. If this fails, it waits until `called_until`.
    async fn let_go(&self, call: &Call, number: i64) {
        if let Ok(mut transaction) = self.begin(&mut Patience::default()).await
            && rows::let_go::<DB>(&mut transaction, call, number, now_ms())
                .await
                .is_ok()
        {
            let _ = transaction.commit().await;
        }
    }

    async fn begin(&self, patience: &mut Patience) -> Result<Transaction<DB>, Failure> {
        let begun = self.database.begin(patience).await;
        begun.map_err(Failure::NotExecuted)
    }
}

/// What is longer than its column must not be cut.
fn check_memo(memo: &[u8]) -> Result<(), Failure> {
    match memo.len() {
        0..=MAX_MEMO => Ok(()),
        bytes => {
            let what =
                format!("the memo has {bytes} bytes, and a ledger stores at most {MAX_MEMO}");
            Err(Failure::NotExecuted(what.into()))
        }
    }
}

async fn recorded_by_another<DB: Dialect>(
    transaction: &mut Transaction<DB>,
    call: &Call,
) -> Result<Verdict, Failure> {
    let found = rows::rows::<DB>(transaction, call).await?;
    match decide(&found.rows, &call.fingerprint, call.kind) {
        Decision::Answer(row) => Ok(row.into()),
        Decision::OtherFingerprint(recorded) => Ok(Verdict::OtherFingerprint(recorded)),
        Decision::Free => Err(Failure::Unknown(
            "the row of an operation that was begun is gone".into(),
        )),
    }
}
