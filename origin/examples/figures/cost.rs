//! What the protection costs: inserts with and without a unique index, payments with and without the ledger.

use std::time::{Duration, Instant};

use oncegate_origin::ledger::Ledger;
use oncegate_origin::sql::Dialect;
use sqlx::{Connection, Pool};

use crate::crowd::{at_once, call, executed};
use crate::{Result, table};

const WRITERS: usize = 8;
const INSERTS: usize = 200;
const PAYMENTS: usize = 200;

/// Insert throughput with and without the unique index.
pub(crate) async fn inserts<DB: Dialect>(pool: &Pool<DB>, rounds: usize) -> Result<()> {
    const PLAIN: &str = "INSERT INTO figures_plain (id, request_no, cents) VALUES (?, ?, 500)";
    const UNIQUE: &str = "INSERT INTO figures_unique (id, request_no, cents) VALUES (?, ?, 500)";
    let (mut laps, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    // The first round warms up and is not counted.
    for round in 0..=rounds {
        let mut per_second = [0.0; 2];
        // In turns which comes first: the second one meets caches that the first one filled.
        for which in [round % 2, (round + 1) % 2] {
            per_second[which] = insert_lap(pool, [PLAIN, UNIQUE][which], round).await?;
        }
        if round > 0 {
            laps[0].push(per_second[0]);
            laps[1].push(per_second[1]);
            ratios.push(per_second[1] / per_second[0]);
        }
    }
    let [plain, unique] = laps.map(median);
    println!(
        "inserts a second, {WRITERS} writers:       without an index {plain:.0}, with a unique index {unique:.0}: × {:.2}",
        median(ratios)
    );
    Ok(())
}

async fn insert_lap<DB: Dialect>(pool: &Pool<DB>, sql: &'static str, round: usize) -> Result<f64> {
    let began = Instant::now();
    at_once(WRITERS, |writer| {
        let pool = pool.clone();
        async move {
            for row in 0..INSERTS {
                let id = ((round * WRITERS + writer) * INSERTS + row) as i64;
                let request_no = format!(
                    "request-{:032x}",
                    id.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)
                );
                table::run(&pool, sql, &[id.into(), (&request_no).into()]).await?;
            }
            Ok(())
        }
    })
    .await?;
    Ok((WRITERS * INSERTS) as f64 / began.elapsed().as_secs_f64())
}

/// What the ledger adds to a payment, one after the other.
pub(crate) async fn payments<DB: Dialect>(pool: &Pool<DB>, rounds: usize) -> Result<()> {
    let ledger = Ledger::new(pool.clone());
    let (mut bare, mut protected) = (Vec::new(), Vec::new());
    for payment in 0..PAYMENTS * rounds {
        let began = Instant::now();
        let mut connection = pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        table::charge(&mut *transaction, "bare").await?;
        transaction.commit().await?;
        drop(connection);
        bare.push(milliseconds(began.elapsed()));

        let began = Instant::now();
        let call = call(&format!("payment-{payment}"));
        let verdict = ledger
            .once(&call, async |connection: &mut DB::Connection| {
                table::charge(connection, "protected").await?;
                Ok(executed())
            })
            .await?;
        protected.push(milliseconds(began.elapsed()));
        assert!(matches!(
            verdict,
            oncegate_origin::ledger::Verdict::Executed(_)
        ));
    }
    let wanted = (PAYMENTS * rounds) as i64;
    assert_eq!(table::charges(pool, "protected").await?, wanted);
    let (bare, protected) = (median(bare), median(protected));
    println!(
        "a payment, p50 ms:                 a transaction of its own {bare:.2}, with the ledger {protected:.2}: + {:.2} ms",
        protected - bare
    );
    Ok(())
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
