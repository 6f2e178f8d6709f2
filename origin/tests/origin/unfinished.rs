//! Rule L7: what was begun and not finished, and whoever finishes it.

use std::time::Duration;

use oncegate_core::key::KeyKind;
use oncegate_origin::ledger::outside::{BoxError, Known, MAX_MEMO};
use oncegate_origin::ledger::{Failure, Verdict};

use crate::fixture::{answer, call, on_database};
use crate::outside::{Charge, MEMO, Provider, pay, pay_and_lose_the_answer, record, unknown};

#[tokio::test]
async fn l7_a_recovery_finds_what_was_begun_and_finishes_it() {
    on_database!(|fixture| {
        let provider = Provider::default();
        let call = call("\"order 7\"", 'a', KeyKind::Client);
        unknown(pay_and_lose_the_answer(&fixture.ledger, &provider, &call).await);
        let unfinished = fixture.ledger.unfinished(None, 10).await.unwrap();
        assert_eq!(unfinished.len(), 1);
        assert_eq!(unfinished[0].memo, MEMO);
        let found = unfinished[0].call.clone();
        assert_eq!(
            (found.key.as_str(), found.fingerprint),
            ("order 7", call.fingerprint)
        );
        pay(fixture.ledger.clone(), provider.clone(), found)
            .await
            .unwrap();
        assert!(
            fixture
                .ledger
                .unfinished(None, 10)
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(
            fixture.replay(&call).await,
            Verdict::Executed(answer("charge 1"))
        );
        assert_eq!((provider.charges(), fixture.effects().await), (1, 1));
    });
}

/// Nobody can tell what became of the first one, however often it is looked into.
#[tokio::test]
async fn l7_what_cannot_be_told_keeps_no_other_from_its_turn() {
    on_database!(|fixture| {
        let provider = Provider::default();
        for key in ["a", "b", "c"] {
            let call = call(key, 'a', KeyKind::Client);
            unknown(pay_and_lose_the_answer(&fixture.ledger, &provider, &call).await);
        }
        // The next look is in a later millisecond.
        tokio::time::sleep(Duration::from_millis(5)).await;
        let first = fixture.ledger.unfinished(None, 1).await.unwrap().remove(0);
        let lost = async |_| Err::<Known<Charge>, BoxError>("the provider is not there".into());
        let asked = fixture.ledger.ask_outside(&first.call, lost, record::<DB>);
        unknown(asked.await);
        let mut seen = Vec::new();
        let mut last = None;
        while let Some(next) = fixture
            .ledger
            .unfinished(last.as_ref(), 1)
            .await
            .unwrap()
            .pop()
        {
            seen.push(next.call.key.as_str().to_owned());
            last = Some(next);
        }
        assert_eq!(seen.len(), 3, "every page goes on where the last one ended");
        assert_eq!(seen[2], first.call.key.as_str());
    });
}

/// What is longer than its column is not begun: a database would refuse it, or cut it.
#[tokio::test]
async fn l7_a_memo_that_cannot_be_stored_begins_nothing() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        let memo = vec![0; MAX_MEMO + 1];
        let never = async |_| -> Result<Charge, BoxError> { panic!("the provider was called") };
        let ended = fixture.ledger.outside(&call, &memo, never, record::<DB>);
        let ended = ended.await;
        assert!(matches!(ended, Err(Failure::NotExecuted(_))), "{ended:?}");
        assert_eq!(fixture.rows().await, 0);
    });
}
