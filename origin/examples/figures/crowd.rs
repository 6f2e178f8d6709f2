//! What the protection is worth: a crowd of callers, with the ledger and with what is often used in its place.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::{Key, KeyKind};
use oncegate_origin::ledger::{Answer, Call, Effect, Ledger, Verdict};
use oncegate_origin::sql::Dialect;
use sqlx::Pool;
use tokio::task::{LocalSet, yield_now};
use tokio::time::sleep;

use crate::cost::{median, milliseconds};
use crate::{Result, table};

const CALLERS: usize = 100;
const REQUESTS: usize = 10;
const TOKENS: usize = 20;
const LOCK: Duration = Duration::from_millis(50);
const WORK: Duration = Duration::from_millis(120);
const DUPLICATES: usize = 5;

/// A hundred callers, a thousand requests, one payment number.
pub(crate) async fn one_payment<DB: Dialect>(pool: &Pool<DB>) -> Result<()> {
    let began = Instant::now();
    let took = at_once(CALLERS, |_| {
        let pool = pool.clone();
        async move {
            let mut took = Vec::new();
            for _ in 0..REQUESTS {
                let began = Instant::now();
                pay_once(&pool, "one-payment", Duration::ZERO).await?;
                took.push(milliseconds(began.elapsed()));
            }
            Ok(took)
        }
    })
    .await?;
    let charges = table::charges(pool, "one-payment").await?;
    println!(
        "one payment number, {CALLERS} callers, {} requests: {charges} charge in {:.0} ms; p50 of a request {:.1} ms",
        CALLERS * REQUESTS,
        milliseconds(began.elapsed()),
        median(took.concat())
    );
    assert_eq!(charges, 1);
    Ok(())
}

/// A hundred callers on one token: looked up and then deleted, deleted at once, and as a key of the ledger.
pub(crate) async fn tokens<DB: Dialect>(pool: &Pool<DB>) -> Result<()> {
    let (mut naive, mut atomic, mut ledger) = (Vec::new(), Vec::new(), Vec::new());
    for token in (0..TOKENS).map(|number| format!("token-{number}")) {
        for (how, passed) in [&mut naive, &mut atomic].into_iter().enumerate() {
            let insert = "INSERT INTO figures_tokens (token) VALUES (?)";
            table::run(pool, insert, &[(&token).into()]).await?;
            let taken = at_once(CALLERS, |_| take(pool.clone(), token.clone(), how == 0)).await?;
            passed.push(taken.into_iter().filter(|taken| *taken).count());
        }
        at_once(CALLERS, |_| {
            let (pool, token) = (pool.clone(), token.clone());
            async move { pay_once(&pool, &token, Duration::ZERO).await }
        })
        .await?;
        ledger.push(table::charges(pool, &token).await?.try_into()?);
    }
    println!(
        "one token, {CALLERS} callers, {TOKENS} times:    looked up, then deleted: {}; deleted in one statement: {}; ledger: {}",
        range(&naive),
        range(&atomic),
        range(&ledger)
    );
    assert!(atomic.iter().chain(&ledger).all(|passed| *passed == 1));
    Ok(())
}

async fn take<DB: Dialect>(pool: Pool<DB>, token: String, naive: bool) -> Result<bool> {
    let there = "SELECT count(*) AS n FROM figures_tokens WHERE token = ?";
    if naive && table::number(&pool, there, &token).await? == 0 {
        return Ok(false);
    }
    let delete = "DELETE FROM figures_tokens WHERE token = ?";
    let deleted = table::run(&pool, delete, &[(&token).into()]).await?;
    // The naive one does not look at what it deleted: it has looked before.
    Ok(naive || deleted == 1)
}

/// A lock that ends before the work does, taken by one duplicate after the other.
pub(crate) async fn short_lock<DB: Dialect>(pool: &Pool<DB>) -> Result<()> {
    table::run(
        pool,
        "INSERT INTO figures_locks (name, ends_ms) VALUES (?, 0)",
        &["pay".into()],
    )
    .await?;
    at_once(DUPLICATES, |number| {
        let pool = pool.clone();
        async move {
            sleep(LOCK * number as u32 + LOCK / 5 * number as u32).await;
            if lock(&pool).await? {
                sleep(WORK).await;
                table::charge(&mut *pool.acquire().await?, "locked").await?;
            }
            Ok(())
        }
    })
    .await?;
    at_once(DUPLICATES, |_| {
        let pool = pool.clone();
        async move { pay_once(&pool, "once", WORK).await }
    })
    .await?;
    let (locked, once) = (
        table::charges(pool, "locked").await?,
        table::charges(pool, "once").await?,
    );
    println!(
        "work of {} ms, {DUPLICATES} duplicates:       under a lock of {} ms: {locked} charges; ledger: {once}",
        WORK.as_millis(),
        LOCK.as_millis()
    );
    assert_eq!(once, 1);
    Ok(())
}

async fn lock<DB: Dialect>(pool: &Pool<DB>) -> Result<bool> {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let ends = now + i64::try_from(LOCK.as_millis())?;
    let sql = "UPDATE figures_locks SET ends_ms = ? WHERE name = 'pay' AND ends_ms <= ?";
    Ok(table::run(pool, sql, &[ends.into(), now.into()]).await? == 1)
}

async fn pay_once<DB: Dialect>(pool: &Pool<DB>, pay_no: &str, work: Duration) -> Result<()> {
    let verdict = Ledger::new(pool.clone())
        .once(&call(pay_no), async |connection: &mut DB::Connection| {
            sleep(work).await;
            table::charge(connection, pay_no).await?;
            Ok(executed())
        })
        .await?;
    match verdict {
        Verdict::Executed(_) => Ok(()),
        other => Err(format!("a duplicate heard {other:?}").into()),
    }
}

/// So many tasks that begin together, and what each came to.
pub(crate) async fn at_once<T: 'static, F>(
    tasks: usize,
    task: impl Fn(usize) -> F,
) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>> + 'static,
{
    let local = LocalSet::new();
    let running: Vec<_> = (0..tasks)
        .map(|number| local.spawn_local(task(number)))
        .collect();
    local
        .run_until(async {
            yield_now().await;
            let mut ended = Vec::with_capacity(tasks);
            for task in running {
                ended.push(task.await??);
            }
            Ok(ended)
        })
        .await
}

pub(crate) fn call(key: &str) -> Call {
    Call {
        key: Key::parse(key).expect("the names here are keys"),
        fingerprint: Fingerprint::parse(&"a".repeat(64)).expect("64 hexadecimal digits"),
        kind: KeyKind::Client,
    }
}

pub(crate) fn executed() -> Effect {
    Effect::Executed(Answer {
        status: 201,
        headers: Vec::new(),
        body: b"{\"paid\":true}".to_vec(),
    })
}

fn range(passed: &[usize]) -> String {
    let (least, most) = (
        passed.iter().min().copied().unwrap_or(0),
        passed.iter().max().copied().unwrap_or(0),
    );
    match least == most {
        true => format!("{least} passed"),
        false => format!("{least} to {most} passed"),
    }
}
