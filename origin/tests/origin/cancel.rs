//! Rule L6: probe and cancel, of the ledger as a library.

use oncegate_core::key::KeyKind;
use oncegate_core::ledger::State;
use oncegate_origin::ledger::Verdict;

use crate::fixture::{Fixture, call, executed, take};

#[tokio::test]
async fn l6_a_cancelled_key_never_runs() {
    let fixture = Fixture::new().await;
    let [a, b] = ['a', 'b'].map(|fingerprint| call("k", fingerprint, KeyKind::Client));
    for _ in 0..2 {
        assert_eq!(fixture.ledger.cancel(&a).await.unwrap(), State::Cancelled);
    }
    for call in [&a, &b] {
        assert_eq!(fixture.replay(call).await, Verdict::Cancelled);
        assert_eq!(
            fixture.ledger.probe(call).await.unwrap(),
            Some(State::Cancelled)
        );
    }
    assert_eq!((fixture.effects().await, fixture.rows().await), (0, 1));
}

#[tokio::test]
async fn l6_a_cancel_that_comes_too_late_hears_what_happened() {
    let fixture = Fixture::new().await;
    let [ran, refused] = ["ran", "refused"].map(|key| call(key, 'a', KeyKind::Client));
    fixture.execute(&ran).await;
    fixture.refuse(&refused, "no").await;
    assert_eq!(fixture.ledger.cancel(&ran).await.unwrap(), State::Executed);
    assert_eq!(
        fixture.ledger.cancel(&refused).await.unwrap(),
        State::Refused
    );
    assert_eq!(fixture.rows().await, 2);
}

#[tokio::test]
async fn l6_a_refusal_of_another_fingerprint_is_no_answer() {
    let fixture = Fixture::new().await;
    for kind in [KeyKind::Client, KeyKind::Generated] {
        let [a, b] = ['a', 'b'].map(|fingerprint| call(kind.as_str(), fingerprint, kind));
        fixture.refuse(&a, "no").await;
        assert_eq!(fixture.ledger.probe(&b).await.unwrap(), None);
        assert_eq!(
            fixture.ledger.probe(&a).await.unwrap(),
            Some(State::Refused)
        );
        assert_eq!(fixture.ledger.cancel(&b).await.unwrap(), State::Cancelled);
        assert_eq!(fixture.replay(&b).await, Verdict::Cancelled);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l6_a_cancel_and_a_commit_that_race_agree() {
    let fixture = Fixture::new().await;
    let mut effects = 0;
    for round in 0..40 {
        let call = call(&format!("k{round}"), 'a', KeyKind::Client);
        let running = tokio::spawn({
            let (ledger, call) = (fixture.ledger.clone(), call.clone());
            async move {
                ledger
                    .once(&call, |connection| take(connection, Ok(executed("x"))))
                    .await
            }
        });
        if round % 2 == 0 {
            tokio::task::yield_now().await;
        }
        let cancelled = fixture.ledger.cancel(&call).await.unwrap();
        match running.await.unwrap().unwrap() {
            Verdict::Cancelled => assert_eq!(cancelled, State::Cancelled),
            Verdict::Executed(_) => {
                assert_eq!(cancelled, State::Executed);
                effects += 1;
            }
            verdict => panic!("{verdict:?}"),
        }
        assert_eq!(fixture.effects().await, effects, "round {round}");
    }
}
