//! Rule L7: a payment provider, and what may go wrong between its answer and the row.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oncegate_core::key::KeyKind;
use oncegate_core::ledger::State;
use oncegate_origin::ledger::outside::{BoxError, Known, ProviderKey, Times};
use oncegate_origin::ledger::{Call, Effect, Failure, Ledger, Verdict};
use oncegate_origin::sql::Dialect;
use tokio::sync::Notify;

use crate::fixture::{Fixture, answer, call, executed, never, on_database, take};

/// What a provider answers.
#[derive(Clone)]
pub(crate) struct Charge(pub(crate) String);

/// A provider that does what it is asked for under one name once, and may keep its answer to itself.
#[derive(Clone, Default)]
pub(crate) struct Provider(Arc<Books>);

#[derive(Default)]
struct Books {
    charges: Mutex<HashMap<String, Charge>>,
    calls: Mutex<u32>,
    answers: Notify,
}

impl Provider {
    /// Charges, unless it has done so under this name.
    fn charge(&self, name: &ProviderKey) -> Charge {
        *self.0.calls.lock().unwrap() += 1;
        let mut charges = self.0.charges.lock().unwrap();
        let number = charges.len() + 1;
        let charge = charges.entry(name.to_string());
        charge
            .or_insert_with(|| Charge(format!("charge {number}")))
            .clone()
    }

    async fn charge_and_answer(&self, name: &ProviderKey) -> Result<Charge, BoxError> {
        Ok(self.charge(name))
    }

    async fn charge_and_lose_the_answer(&self, name: &ProviderKey) -> Result<Charge, BoxError> {
        self.charge(name);
        Err("the connection broke".into())
    }

    /// Answers when it is told to.
    async fn charge_slowly(&self, name: &ProviderKey) -> Result<Charge, BoxError> {
        let charge = self.charge(name);
        self.0.answers.notified().await;
        Ok(charge)
    }

    pub(crate) fn charges(&self) -> usize {
        self.0.charges.lock().unwrap().len()
    }

    pub(crate) fn calls(&self) -> u32 {
        *self.0.calls.lock().unwrap()
    }
}

pub(crate) const MEMO: &[u8] = b"4242";

/// Pays through a provider that answers, and takes the mug.
pub(crate) async fn pay<DB: Dialect>(
    ledger: Ledger<DB>,
    provider: Provider,
    call: Call,
) -> Result<Verdict, Failure> {
    let charge = async move |name: ProviderKey| provider.charge_and_answer(&name).await;
    ledger.outside(&call, MEMO, charge, record::<DB>).await
}

pub(crate) async fn pay_and_lose_the_answer<DB: Dialect>(
    ledger: &Ledger<DB>,
    provider: &Provider,
    call: &Call,
) -> Result<Verdict, Failure> {
    let provider = provider.clone();
    let charge = async move |name: ProviderKey| provider.charge_and_lose_the_answer(&name).await;
    ledger.outside(call, MEMO, charge, record::<DB>).await
}

pub(crate) async fn record<DB: Dialect>(
    connection: &mut DB::Connection,
    charge: &Charge,
) -> Result<Effect, Failure> {
    take::<DB>(connection, Ok(executed(&charge.0))).await
}

/// Tells nothing of a call that nobody waits for any more.
fn impatient<DB: Dialect>(fixture: &Fixture<DB>) -> Ledger<DB> {
    fixture.ledger.clone().with_times(Times {
        call: Duration::from_millis(300),
        settle_after: Duration::ZERO,
    })
}

pub(crate) fn unknown(ended: Result<Verdict, Failure>) {
    assert!(matches!(ended, Err(Failure::Unknown(_))), "{ended:?}");
}

#[tokio::test]
async fn l7_what_the_provider_did_is_recorded_once_and_answered_again() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let call = call("k", 'a', KeyKind::Client);
        for _ in 0..3 {
            let verdict = pay(fixture.ledger.clone(), provider.clone(), call.clone()).await;
            assert_eq!(verdict.unwrap(), Verdict::Executed(answer("charge 1")));
        }
        assert_eq!((provider.charges(), provider.calls()), (1, 1));
        assert_eq!((fixture.effects().await, fixture.rows().await), (1, 1));
    });
}

#[tokio::test]
async fn l7_the_row_says_started_before_the_provider_is_called() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        let url = fixture.books.url();
        let ended = fixture
            .ledger
            .outside(
                &call,
                MEMO,
                async move |_| {
                    let mut connection =
                        <DB::Connection as sqlx::Connection>::connect(&url).await?;
                    Ok(started::<DB>(&mut connection).await?)
                },
                async move |connection: &mut DB::Connection, started: &i64| {
                    take::<DB>(connection, Ok(executed(&started.to_string()))).await
                },
            )
            .await;
        assert_eq!(ended.unwrap(), Verdict::Executed(answer("1")));
    });
}

async fn started<DB: Dialect>(connection: &mut DB::Connection) -> Result<i64, sqlx::Error> {
    use oncegate_origin::sql::Statements;
    let sql = "SELECT count(*) AS n FROM idempotency_ledger WHERE state = 'started'";
    connection.first(sql, &[]).await?.expect("a row").get("n")
}

#[tokio::test]
async fn l7_the_next_duplicate_calls_again_under_the_same_name() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let call = call("k", 'a', KeyKind::Client);
        for _ in 0..2 {
            unknown(pay_and_lose_the_answer(&fixture.ledger, &provider, &call).await);
            assert_eq!((fixture.effects().await, fixture.rows().await), (0, 1));
        }
        let verdict = pay(fixture.ledger.clone(), provider.clone(), call.clone()).await;
        assert_eq!(verdict.unwrap(), Verdict::Executed(answer("charge 1")));
        assert_eq!((provider.charges(), provider.calls()), (1, 3));
        assert_eq!(fixture.effects().await, 1);
    });
}

/// The process dies between the provider's charge and the row.
#[tokio::test]
async fn l7_after_a_crash_between_call_and_result_there_is_one_charge() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let ledger = impatient(&fixture);
        let call = call("k", 'a', KeyKind::Client);
        let dying = {
            let (ledger, provider, call) = (ledger.clone(), provider.clone(), call.clone());
            tokio::spawn(async move {
                let charge = async move |name: ProviderKey| provider.charge_slowly(&name).await;
                ledger.outside(&call, MEMO, charge, record::<DB>).await
            })
        };
        crate::shop::until(async || provider.charges() == 1).await;
        dying.abort();
        assert!(dying.await.unwrap_err().is_cancelled());
        let verdict = pay(ledger, provider.clone(), call).await;
        assert_eq!(verdict.unwrap(), Verdict::Executed(answer("charge 1")));
        assert_eq!((provider.charges(), provider.calls()), (1, 2));
        assert_eq!(fixture.effects().await, 1);
    });
}

#[tokio::test]
async fn l7_a_duplicate_waits_while_another_process_is_at_the_provider() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let other = fixture.another_ledger().await;
        let call = call("k", 'a', KeyKind::Client);
        let first = {
            let (ledger, provider, call) = (fixture.ledger.clone(), provider.clone(), call.clone());
            tokio::spawn(async move {
                let charge = async move |name: ProviderKey| provider.charge_slowly(&name).await;
                ledger.outside(&call, MEMO, charge, record::<DB>).await
            })
        };
        crate::shop::until(async || provider.calls() == 1).await;
        let second = tokio::spawn(pay(other, provider.clone(), call));
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(provider.calls(), 1);
        provider.0.answers.notify_one();
        let [first, second] = [first.await, second.await].map(|ended| ended.unwrap().unwrap());
        assert_eq!((&first, provider.calls()), (&second, 1));
        assert_eq!(fixture.effects().await, 1);
    });
}

#[tokio::test]
async fn l7_what_was_begun_can_neither_be_cancelled_nor_run_otherwise() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let [a, b] = ['a', 'b'].map(|card| call("order-7", card, KeyKind::Generated));
        unknown(pay_and_lose_the_answer(&fixture.ledger, &provider, &a).await);
        for ended in [
            fixture.ledger.cancel(&a).await,
            fixture.ledger.once(&a, never::<DB>).await,
            fixture.ledger.once(&b, never::<DB>).await,
            pay(fixture.ledger.clone(), provider.clone(), b.clone()).await,
        ] {
            assert!(matches!(ended, Err(Failure::InProgress)), "{ended:?}");
        }
        assert_eq!(fixture.ledger.probe(&a).await.unwrap(), None);
        pay(fixture.ledger.clone(), provider.clone(), a.clone())
            .await
            .unwrap();
        assert_eq!(
            fixture.ledger.probe(&a).await.unwrap(),
            Some(State::Executed)
        );
        assert_eq!((provider.charges(), fixture.effects().await), (1, 1));
    });
}

#[tokio::test]
async fn l7_a_provider_that_declines_leaves_a_refusal_and_another_card_has_another_name() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let [a, b] = ['a', 'b'].map(|card| call("order-7", card, KeyKind::Generated));
        let decline = async move |connection: &mut DB::Connection, _: &()| {
            take::<DB>(connection, Ok(Effect::Refused(answer("declined")))).await
        };
        for _ in 0..2 {
            let ended = fixture
                .ledger
                .outside(&a, MEMO, async |_| Ok(()), decline)
                .await;
            assert_eq!(ended.unwrap(), Verdict::Refused(answer("declined")));
        }
        assert_eq!((fixture.effects().await, fixture.rows().await), (0, 1));
        assert_ne!(ProviderKey::of(&a), ProviderKey::of(&b));
        let paid = pay(fixture.ledger.clone(), provider, b).await;
        assert_eq!(paid.unwrap(), Verdict::Executed(answer("charge 1")));
        assert_eq!((fixture.effects().await, fixture.rows().await), (1, 2));
    });
}

/// What cannot be written down stays begun, and is never called *not executed*.
#[tokio::test]
async fn l7_a_result_that_cannot_be_recorded_is_unknown_and_recorded_later() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let call = call("k", 'a', KeyKind::Client);
        let charging = provider.clone();
        let ended = fixture
            .ledger
            .outside(
                &call,
                MEMO,
                async move |name: ProviderKey| charging.charge_and_answer(&name).await,
                async |connection: &mut DB::Connection, _: &Charge| {
                    take::<DB>(connection, Err(Failure::NotExecuted("broken".into()))).await
                },
            )
            .await;
        unknown(ended);
        assert_eq!((fixture.effects().await, fixture.rows().await), (0, 1));
        let verdict = pay(fixture.ledger.clone(), provider.clone(), call).await;
        assert_eq!(verdict.unwrap(), Verdict::Executed(answer("charge 1")));
        assert_eq!((provider.charges(), fixture.effects().await), (1, 1));
    });
}

#[tokio::test]
async fn l7_no_such_payment_counts_only_settle_after_the_last_call() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let call = call("k", 'a', KeyKind::Client);
        unknown(pay_and_lose_the_answer(&fixture.ledger, &provider, &call).await);
        let nothing = async |_| Ok(Known::<Charge>::Nothing);
        unknown(
            fixture
                .ledger
                .ask_outside(&call, nothing, record::<DB>)
                .await,
        );
        assert_eq!(fixture.rows().await, 1);
        let ended = impatient(&fixture)
            .ask_outside(&call, nothing, record::<DB>)
            .await;
        assert!(matches!(ended, Err(Failure::NotExecuted(_))), "{ended:?}");
        assert_eq!((fixture.effects().await, fixture.rows().await), (0, 0));
    });
}

#[tokio::test]
async fn l7_a_provider_that_is_asked_and_knows_the_call_settles_it() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let call = call("k", 'a', KeyKind::Client);
        let nothing = async |_| Ok(Known::<Charge>::Nothing);
        let ended = fixture
            .ledger
            .ask_outside(&call, nothing, record::<DB>)
            .await;
        assert!(matches!(ended, Err(Failure::NotExecuted(_))), "{ended:?}");
        unknown(pay_and_lose_the_answer(&fixture.ledger, &provider, &call).await);
        let charged = async |_| Ok(Known::Answer(Charge("charge 1".to_owned())));
        let ended = fixture
            .ledger
            .ask_outside(&call, charged, record::<DB>)
            .await;
        assert_eq!(ended.unwrap(), Verdict::Executed(answer("charge 1")));
        assert_eq!((provider.calls(), fixture.effects().await), (1, 1));
    });
}
