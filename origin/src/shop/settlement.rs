//! A settlement that somebody asked for, under a key.
//!
//! **Invariant: while a settlement runs, its key says *started*.** It commits row by row, so it is an effect outside
//! the transaction of its key: begun in one, ended in another. A cancel that comes in between hears that an
//! attempt is at work, and never that nothing was done; one that comes before stops it. Whoever repeats the call, a duplicate or the
//! recovery, goes on with the rows that are open.

use std::error::Error;
use std::fmt;

use serde_json::json;

use super::payout;
use super::unfinished::Memo;
use crate::job::{Run, Settings};
use crate::ledger::outside::{ProviderKey, Times};
use crate::ledger::{Answer, Call, Effect, Failure, Ledger, Verdict};
use crate::sql::{Database, Dialect};

/// Another run is at work, and settles everything that is open.
#[derive(Debug)]
pub(crate) struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another run is at work")
    }
}

impl Error for Busy {}

/// Settles everything that is open, and says how many rows. One call goes on for as long as the lease at most; what is
/// open then is left to the next one.
pub(crate) async fn settle<DB: Dialect>(
    database: &Database<DB>,
    ledger: &Ledger<DB>,
    call: &Call,
    settings: Settings,
) -> Result<Verdict, Failure> {
    let times = Times {
        call: settings.lease,
        ..Times::default()
    };
    let database = database.clone();
    // The rows are their own identity: the name is needed by nobody.
    let run = async move |_: ProviderKey| match payout::settle(&database, settings).await {
        Ok(Run::Settled(rows)) => Ok(rows),
        Ok(Run::Busy | Run::Overtaken) => Err(Busy.into()),
        Err(failure) => Err(failure.into()),
    };
    let record = async |_: &mut DB::Connection, rows: &u64| {
        let answer = Answer::json(200, &json!({ "settled": rows }))?;
        Ok(Effect::Executed(answer))
    };
    let memo = Memo::Settlement.to_bytes();
    let ledger = ledger.clone().with_times(times);
    ledger.outside(call, &memo, run, record).await
}
