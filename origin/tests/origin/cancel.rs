//! Rule L6: probe and cancel, of the ledger as a library.

use oncegate_core::key::KeyKind;
use oncegate_core::ledger::State;
use oncegate_origin::ledger::{Call, Ledger, Verdict};
use oncegate_origin::sql::Dialect;

use crate::fixture::{answer, call, executed, on_database, take};
use crate::shop::queue_up;

#[tokio::test]
async fn l6_a_cancelled_key_never_runs() {
    on_database!(|fixture| {
        let [a, b] = ['a', 'b'].map(|fingerprint| call("k", fingerprint, KeyKind::Client));
        for _ in 0..2 {
            assert_eq!(fixture.ledger.cancel(&a).await.unwrap(), Verdict::Cancelled);
        }
        for call in [&a, &b] {
            assert_eq!(fixture.replay(call).await, Verdict::Cancelled);
            assert_eq!(
                fixture.ledger.probe(call).await.unwrap(),
                Some(State::Cancelled)
            );
        }
        assert_eq!((fixture.effects().await, fixture.rows().await), (0, 1));
    });
}

#[tokio::test]
async fn l6_a_cancel_that_comes_too_late_hears_what_happened() {
    on_database!(|fixture| {
        let [ran, refused] = ["ran", "refused"].map(|key| call(key, 'a', KeyKind::Client));
        fixture.execute(&ran).await;
        fixture.refuse(&refused, "no").await;
        assert_eq!(
            fixture.ledger.cancel(&ran).await.unwrap(),
            Verdict::Executed(answer("first"))
        );
        assert_eq!(
            fixture.ledger.cancel(&refused).await.unwrap(),
            Verdict::Refused(answer("no"))
        );
        let other = call("ran", 'b', KeyKind::Client);
        assert!(matches!(
            fixture.ledger.cancel(&other).await.unwrap(),
            Verdict::OtherFingerprint(recorded) if recorded.fingerprint == ran.fingerprint
        ));
        assert_eq!(fixture.rows().await, 2);
    });
}

#[tokio::test]
async fn l6_a_refusal_of_another_fingerprint_is_no_answer() {
    on_database!(|fixture| {
        for kind in [KeyKind::Client, KeyKind::Generated] {
            let [a, b] = ['a', 'b'].map(|fingerprint| call(kind.as_str(), fingerprint, kind));
            fixture.refuse(&a, "no").await;
            assert_eq!(fixture.ledger.probe(&b).await.unwrap(), None);
            assert_eq!(
                fixture.ledger.probe(&a).await.unwrap(),
                Some(State::Refused)
            );
            assert_eq!(fixture.ledger.cancel(&b).await.unwrap(), Verdict::Cancelled);
            assert_eq!(fixture.replay(&b).await, Verdict::Cancelled);
        }
    });
}

/// In a third of the rounds the attempt is a step ahead, in another third the cancel. In the rest
/// they come through connections of their own, and nobody knows who wins.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l6_a_cancel_and_a_commit_that_race_agree() {
    on_database!(|fixture| {
        let other = fixture.another_ledger().await;
        let (mut executions, mut cancels) = (0, 0);
        for round in 0..60 {
            let call = call(&format!("k{round}"), 'a', KeyKind::Client);
            let mut running = Box::pin(run(fixture.ledger.clone(), call.clone()));
            let ledger = match round % 3 {
                2 => other.clone(),
                _ => fixture.ledger.clone(),
            };
            let mut cancelling = Box::pin(async move { ledger.cancel(&call).await.unwrap() });
            match round % 3 {
                0 => queue_up(&mut running).await,
                1 => queue_up(&mut cancelling).await,
                _ => {}
            }
            let (running, cancelling) = (tokio::spawn(running), tokio::spawn(cancelling));
            match (running.await.unwrap(), cancelling.await.unwrap()) {
                (Verdict::Executed(_), Verdict::Executed(_)) => executions += 1,
                (Verdict::Cancelled, Verdict::Cancelled) => cancels += 1,
                disagreement => panic!("round {round}: {disagreement:?}"),
            }
            assert_eq!(fixture.effects().await, executions, "round {round}");
        }
        assert!(executions >= 20 && cancels >= 20, "{executions}, {cancels}");
    });
}

async fn run<DB: Dialect>(ledger: Ledger<DB>, call: Call) -> Verdict {
    ledger
        .once(&call, async move |connection: &mut DB::Connection| {
            take::<DB>(connection, Ok(executed("x"))).await
        })
        .await
        .unwrap()
}
