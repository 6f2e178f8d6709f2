//! Rules L3 to L5 and L9: the ledger as a library.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oncegate_core::key::KeyKind;
use oncegate_core::ledger::{Recorded, State};
use oncegate_origin::ledger::{Call, Effect, Failure, Ledger, Verdict};
use oncegate_origin::sql::{Dialect, Statements};
use tokio::time::sleep;

use crate::fixture::{answer, call, executed, never, on_database, take};

/// Loses the claim, as a ledger that decides wrongly would.
async fn lose_the_claim<DB: Dialect>(connection: &mut DB::Connection) -> Result<Effect, Failure> {
    let sql = "DELETE FROM idempotency_ledger";
    connection.run(sql, &[]).await?;
    take::<DB>(connection, Ok(executed("never"))).await
}

async fn violate_another_index<DB: Dialect>(
    connection: &mut DB::Connection,
) -> Result<Effect, Failure> {
    let sql = "INSERT INTO mugs SELECT * FROM mugs";
    connection.run(sql, &[]).await?;
    Ok(executed("never"))
}

#[tokio::test]
async fn l3_row_effect_and_answer_are_committed_together() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        assert_eq!(
            fixture.execute(&call).await,
            Verdict::Executed(answer("first"))
        );
        assert_eq!((fixture.effects().await, fixture.rows().await), (1, 1));
        assert_eq!(
            fixture.replay(&call).await,
            Verdict::Executed(answer("first"))
        );
    });
}

/// Each handle has a connection of its own, so only the file's lock and its index decide.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l3_fifty_callers_with_one_key_have_one_effect() {
    on_database!(|fixture| {
        let runs = Arc::new(AtomicUsize::new(0));
        let mut ledgers = vec![fixture.ledger.clone()];
        for _ in 1..5 {
            ledgers.push(fixture.another_ledger().await);
        }
        let callers: Vec<_> = (0..50)
            .map(|caller| {
                let (ledger, counted) = (ledgers[caller % ledgers.len()].clone(), runs.clone());
                tokio::spawn(async move {
                    let call = call("k", 'a', KeyKind::Client);
                    ledger
                        .once(&call, async move |connection: &mut DB::Connection| {
                            let run = counted.fetch_add(1, Ordering::SeqCst);
                            take::<DB>(connection, Ok(executed(&run.to_string()))).await
                        })
                        .await
                        .unwrap()
                })
            })
            .collect();
        for caller in callers {
            assert_eq!(caller.await.unwrap(), Verdict::Executed(answer("0")));
        }
        assert_eq!(
            (runs.load(Ordering::SeqCst), fixture.effects().await),
            (1, 1)
        );
    });
}

#[tokio::test]
async fn l3_two_processes_with_one_key_have_one_effect() {
    on_database!(|fixture| {
        let other = fixture.another_ledger().await;
        for round in 0..20 {
            let call = call(&format!("k{round}"), 'a', KeyKind::Client);
            let (one, two) = tokio::join!(
                fixture
                    .ledger
                    .once(&call, async move |connection: &mut DB::Connection| {
                        take::<DB>(connection, Ok(executed("one"))).await
                    }),
                other.once(&call, async move |connection: &mut DB::Connection| {
                    take::<DB>(connection, Ok(executed("two"))).await
                }),
            );
            assert_eq!(one.unwrap(), two.unwrap());
            assert_eq!(fixture.effects().await, round + 1);
        }
    });
}

#[tokio::test]
async fn l3_only_the_ledgers_own_index_means_duplicate() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        let failure = fixture
            .ledger
            .once(&call, violate_another_index::<DB>)
            .await
            .unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure}");
        assert_eq!(fixture.rows().await, 0);
        assert_eq!(
            fixture.execute(&call).await,
            Verdict::Executed(answer("first"))
        );
    });
}

#[tokio::test]
async fn l3_without_a_claim_nothing_is_committed() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        let failure = fixture
            .ledger
            .once(&call, lose_the_claim::<DB>)
            .await
            .unwrap_err();
        assert!(matches!(failure, Failure::NotExecuted(_)), "{failure}");
        assert_eq!((fixture.effects().await, fixture.rows().await), (0, 0));
    });
}

#[tokio::test]
async fn l4_a_refusal_undoes_the_effect_and_stores_its_answer() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        assert_eq!(
            fixture.refuse(&call, "no").await,
            Verdict::Refused(answer("no"))
        );
        assert_eq!((fixture.effects().await, fixture.rows().await), (0, 1));
    });
}

#[tokio::test]
async fn l4_a_first_attempt_that_arrives_after_the_refusal_does_nothing() {
    on_database!(|fixture| {
        for kind in [KeyKind::Client, KeyKind::Token, KeyKind::Generated] {
            let call = call(kind.as_str(), 'a', kind);
            fixture.refuse(&call, "no").await;
            assert_eq!(fixture.replay(&call).await, Verdict::Refused(answer("no")));
        }
        assert_eq!(fixture.effects().await, 0);
    });
}

/// The second attempt waits in another process, and may come in between the first one's rollback and
/// its refusal.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l4_a_refusal_and_an_execution_that_meet_agree() {
    on_database!(|fixture| {
        let other = fixture.another_ledger().await;
        let mut executions = 0;
        for round in 0..20 {
            let call = call(&format!("k{round}"), 'a', KeyKind::Client);
            let refusing = tokio::spawn(refuse_slowly(fixture.ledger.clone(), call.clone()));
            let executing = other
                .once(&call, async move |connection: &mut DB::Connection| {
                    take::<DB>(connection, Ok(executed("yes"))).await
                })
                .await
                .unwrap();
            assert_eq!(refusing.await.unwrap(), executing, "round {round}");
            executions += i64::from(executing == Verdict::Executed(answer("yes")));
            assert_eq!(fixture.effects().await, executions, "round {round}");
        }
    });
}

async fn refuse_slowly<DB: Dialect>(ledger: Ledger<DB>, call: Call) -> Verdict {
    ledger
        .once(&call, async move |connection: &mut DB::Connection| {
            sleep(Duration::from_millis(5)).await;
            take::<DB>(connection, Ok(Effect::Refused(answer("no")))).await
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn l4_a_refusal_is_never_told_where_another_row_stands() {
    on_database!(|fixture| {
        let [ran, cancelled] = ["ran", "cancelled"].map(|key| call(key, 'a', KeyKind::Generated));
        fixture.execute(&ran).await;
        fixture.ledger.cancel(&cancelled).await.unwrap();
        let told = async |call| fixture.ledger.refuse(call, answer("no")).await.unwrap();
        assert_eq!(told(&ran).await, Verdict::Executed(answer("first")));
        assert_eq!(told(&cancelled).await, Verdict::Cancelled);
        let other = call("ran", 'b', KeyKind::Generated);
        assert_eq!(
            told(&other).await,
            Verdict::OtherFingerprint(recorded(State::Executed, &ran))
        );
        assert_eq!(fixture.rows().await, 2);
    });
}

#[tokio::test]
async fn l4_a_failure_commits_nothing_and_says_whether_it_is_sure() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        for sure in [true, false] {
            let end = move || match sure {
                true => Failure::NotExecuted("broken".into()),
                false => Failure::Unknown("broken".into()),
            };
            let failure = fixture
                .ledger
                .once(&call, async move |connection: &mut DB::Connection| {
                    take::<DB>(connection, Err(end())).await
                })
                .await;
            assert_eq!(matches!(failure, Err(Failure::NotExecuted(_))), sure);
            assert_eq!((fixture.effects().await, fixture.rows().await), (0, 0));
        }
        assert_eq!(
            fixture.execute(&call).await,
            Verdict::Executed(answer("first"))
        );
    });
}

#[tokio::test]
async fn l5_another_fingerprint_hears_what_is_recorded() {
    on_database!(|fixture| {
        for (key, state) in [("ran", State::Executed), ("refused", State::Refused)] {
            let first = call(key, 'a', KeyKind::Client);
            match state {
                State::Executed => fixture.execute(&first).await,
                _ => fixture.refuse(&first, "no").await,
            };
            let other = call(key, 'b', KeyKind::Client);
            assert_eq!(
                fixture.replay(&other).await,
                Verdict::OtherFingerprint(recorded(state, &first))
            );
        }
        assert_eq!(fixture.effects().await, 1);
    });
}

#[tokio::test]
async fn l5_a_generated_key_runs_with_another_fingerprint_after_a_refusal() {
    on_database!(|fixture| {
        let [a, b, c] = ['a', 'b', 'c'].map(|card| call("order-7", card, KeyKind::Generated));
        assert_eq!(fixture.refuse(&a, "a").await, Verdict::Refused(answer("a")));
        assert_eq!(fixture.refuse(&b, "b").await, Verdict::Refused(answer("b")));
        for (refused, text) in [(&a, "a"), (&b, "b")] {
            assert_eq!(
                fixture.replay(refused).await,
                Verdict::Refused(answer(text))
            );
        }
        assert_eq!(
            fixture.execute(&c).await,
            Verdict::Executed(answer("first"))
        );
        for refused in [&a, &b] {
            assert_eq!(
                fixture.replay(refused).await,
                Verdict::OtherFingerprint(recorded(State::Executed, &c))
            );
        }
        assert_eq!(fixture.effects().await, 1);
    });
}

#[tokio::test]
async fn l9_rows_outlive_the_process() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        fixture.execute(&call).await;
        let again = fixture.another_ledger().await;
        let verdict = again.once(&call, never::<DB>).await.unwrap();
        assert_eq!(verdict, Verdict::Executed(answer("first")));
    });
}

fn recorded(state: State, call: &Call) -> Recorded {
    Recorded {
        state,
        fingerprint: call.fingerprint,
    }
}
