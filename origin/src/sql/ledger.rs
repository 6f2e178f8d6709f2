//! The ledger's statements. Those about one key run inside the transaction that holds its row.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::ledger::{Row, State};

use super::Row as Columns;
use super::work::{FirstInsert, first_insert, is_first};
use super::{Dialect, Sql, Statements};
use crate::clock::now_ms;
use crate::ledger::outside::Unfinished;
use crate::ledger::{Answer, Call};

const STARTED: &str = "started";

/// Where another transaction holds the key, the insert waits until that one ends. It is a duplicate
/// only if it meets the ledger's own index.
const CLAIM: FirstInsert = first_insert!(
    "idempotency_ledger",
    "request_key, slot, fingerprint, state, claimed_at",
    "?, '', ?, 'claimed', ?",
    "request_key, slot"
);

/// Takes the key: inserts the row that only one attempt can insert. If the key has one already,
/// nothing is inserted: [`rows`] then has the row that it met.
pub(crate) async fn claim<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    let fingerprint = call.fingerprint.to_string();
    let values = [
        call.key.as_str().into(),
        (&fingerprint).into(),
        now_ms.cast_signed().into(),
    ];
    is_first::<DB>(connection, CLAIM, &values).await?;
    Ok(())
}

/// What there is under a key.
pub(crate) struct Found {
    /// What is settled.
    pub(crate) rows: Vec<Row<Answer>>,
    /// An effect outside the database that was begun.
    pub(crate) started: Option<Started>,
}

/// An effect outside the database, of which nobody has written down what came of it.
pub(crate) struct Started {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) calls: i64,
    pub(crate) called_at: u64,
    pub(crate) called_until: u64,
}

/// Every row under a key except the claim.
pub(crate) async fn rows<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
) -> Result<Found, sqlx::Error> {
    let all = connection
        .all(
            "SELECT state, fingerprint, status, headers, body, calls, called_at, called_until
             FROM idempotency_ledger WHERE request_key = ? AND state <> 'claimed'",
            &[call.key.as_str().into()],
        )
        .await?;
    let mut found = Found {
        rows: Vec::with_capacity(all.len()),
        started: None,
    };
    for row in &all {
        match row.get::<String>("state")?.as_str() {
            STARTED => found.started = Some(read_started(row)?),
            _ => found.rows.push(read(row)?),
        }
    }
    Ok(found)
}

/// What a row is before it is settled.
#[derive(Clone, Copy)]
pub(crate) enum Open {
    /// The claim of this transaction.
    Claim,
    /// An effect outside the database.
    Started,
}

/// Turns a row into what became of the operation. A cancelled row has no answer. Without such a row this
/// is an error: then nothing may be committed, whatever led here.
pub(crate) async fn settle<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
    from: Open,
    (state, answer): (State, Option<&Answer>),
) -> Result<(), sqlx::Error> {
    let fingerprint = call.fingerprint.to_string();
    let slot = match state {
        State::Refused => fingerprint.as_str(),
        _ => "",
    };
    let from = match from {
        Open::Claim => "claimed",
        Open::Started => STARTED,
    };
    let headers = answer.map(|answer| write_headers(&answer.headers));
    let settled = connection
        .run(
            "UPDATE idempotency_ledger
             SET slot = ?, state = ?, status = ?, headers = ?, body = ?, settled_at = ?
             WHERE request_key = ? AND slot = '' AND state = ?",
            &[
                slot.into(),
                state.as_str().into(),
                answer.map(|answer| i64::from(answer.status)).into(),
                headers.as_deref().into(),
                answer.map(|answer| answer.body.as_slice()).into(),
                now_ms().cast_signed().into(),
                call.key.as_str().into(),
                from.into(),
            ],
        )
        .await?;
    match settled {
        1 => Ok(()),
        _ => Err(sqlx::Error::Protocol(format!(
            "the ledger has no row to settle that is {from}"
        ))),
    }
}

/// Turns the claim into a row that says: the provider is called, under this name, from and until then.
pub(crate) async fn start<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
    provider_key: &str,
    memo: &[u8],
    [now_ms, until_ms]: [u64; 2],
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE idempotency_ledger
         SET state = 'started', provider_key = ?, body = ?, calls = 1, called_at = ?, called_until = ?
         WHERE request_key = ? AND slot = '' AND state = 'claimed'";
    let values = [
        provider_key.into(),
        Some(memo).into(),
        now_ms.cast_signed().into(),
        until_ms.cast_signed().into(),
        call.key.as_str().into(),
    ];
    match connection.run(sql, &values).await? {
        1 => Ok(()),
        _ => Err(sqlx::Error::Protocol(
            "the ledger has no claim to start from".into(),
        )),
    }
}

/// Counts one more call, if nobody else has counted one since.
pub(crate) async fn call_again<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
    calls: i64,
    [now_ms, until_ms]: [u64; 2],
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE idempotency_ledger
         SET calls = calls + 1, called_at = ?, called_until = ?
         WHERE request_key = ? AND slot = '' AND state = 'started' AND calls = ?";
    let values = [
        now_ms.cast_signed().into(),
        until_ms.cast_signed().into(),
        call.key.as_str().into(),
        calls.into(),
    ];
    Ok(connection.run(sql, &values).await? == 1)
}

/// Locks the row of an effect that was begun, until the transaction ends. `false`: there is none.
pub(crate) async fn lock_started<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE idempotency_ledger SET called_until = called_until + 1
         WHERE request_key = ? AND slot = '' AND fingerprint = ? AND state = 'started'";
    let fingerprint = call.fingerprint.to_string();
    let values = [call.key.as_str().into(), (&fingerprint).into()];
    Ok(connection.run(sql, &values).await? == 1)
}

/// Says that whoever made this call waits for it no longer.
pub(crate) async fn let_go<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
    calls: i64,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE idempotency_ledger SET called_until = ?
         WHERE request_key = ? AND slot = '' AND state = 'started' AND calls = ?";
    let values = [
        now_ms.cast_signed().into(),
        call.key.as_str().into(),
        calls.into(),
    ];
    connection.run(sql, &values).await?;
    Ok(())
}

/// Removes the row of an effect that was begun and of which the provider knows nothing, unless it was
/// called again since.
pub(crate) async fn take_back<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
    calls: i64,
) -> Result<bool, sqlx::Error> {
    let sql = "DELETE FROM idempotency_ledger
         WHERE request_key = ? AND slot = '' AND state = 'started' AND calls = ?";
    let values = [call.key.as_str().into(), calls.into()];
    Ok(connection.run(sql, &values).await? == 1)
}

/// Effects outside the database that were begun and that nobody is at, those first that were looked into longest
/// ago.
pub(crate) async fn unfinished<DB: Dialect>(
    connection: &mut DB::Connection,
    now_ms: u64,
    after: Option<&Unfinished>,
    limit: u32,
) -> Result<Vec<Unfinished>, sqlx::Error> {
    let sql = "SELECT request_key, fingerprint, body, called_until FROM idempotency_ledger
         WHERE state = 'started' AND called_until <= ?
         AND (called_until > ? OR (called_until = ? AND request_key > ?))
         ORDER BY called_until, request_key LIMIT ?";
    let (until, key) = after.map_or((-1, ""), |after| {
        (after.called_until.cast_signed(), after.call.key.as_str())
    });
    let values = [
        now_ms.cast_signed().into(),
        until.into(),
        until.into(),
        key.into(),
        i64::from(limit).into(),
    ];
    let rows = connection.all(sql, &values).await?;
    rows.iter().map(read_unfinished).collect()
}

/// Forgets some of the rows that were settled before a time.
pub(crate) async fn purge<DB: Dialect>(
    connection: &mut DB::Connection,
    before_ms: u64,
    limit: u64,
) -> Result<u64, sqlx::Error> {
    const BY_KEY: &str = "DELETE FROM idempotency_ledger WHERE (request_key, slot) IN (
             SELECT request_key, slot FROM idempotency_ledger
             WHERE settled_at < ? ORDER BY settled_at LIMIT ?)";
    let sql = Sql {
        // It takes no LIMIT in a subquery, and one at the end instead.
        mysql: "DELETE FROM idempotency_ledger WHERE settled_at < ? ORDER BY settled_at LIMIT ?",
        postgres: BY_KEY,
        sqlite: BY_KEY,
    };
    let values = [before_ms.cast_signed().into(), limit.cast_signed().into()];
    connection.run(sql, &values).await
}

/// Forgets every key.
#[cfg(feature = "shop")]
pub(crate) async fn clear<DB: Dialect>(connection: &mut DB::Connection) -> Result<(), sqlx::Error> {
    connection
        .run("DELETE FROM idempotency_ledger", &[])
        .await?;
    Ok(())
}

fn read<DB: Dialect>(row: &Columns<DB>) -> Result<Row<Answer>, sqlx::Error> {
    let state: String = row.get("state")?;
    let status: Option<i64> = row.get("status")?;
    let headers: Option<String> = row.get("headers")?;
    let body: Option<Vec<u8>> = row.get("body")?;
    Ok(Row {
        state: State::parse(&state).ok_or_else(|| corrupt("state"))?,
        fingerprint: fingerprint(row)?,
        answer: Answer {
            status: u16::try_from(status.unwrap_or_default()).map_err(|_| corrupt("status"))?,
            headers: read_headers(&headers.unwrap_or_default()),
            body: body.unwrap_or_default(),
        },
    })
}

fn read_started<DB: Dialect>(row: &Columns<DB>) -> Result<Started, sqlx::Error> {
    let called_at: i64 = row.get("called_at")?;
    let called_until: i64 = row.get("called_until")?;
    Ok(Started {
        fingerprint: fingerprint(row)?,
        calls: row.get("calls")?,
        called_at: called_at.cast_unsigned(),
        called_until: called_until.cast_unsigned(),
    })
}

fn read_unfinished<DB: Dialect>(row: &Columns<DB>) -> Result<Unfinished, sqlx::Error> {
    let key: String = row.get("request_key")?;
    Ok(Unfinished {
        call: Call {
            key: Key::from_value(&key).map_err(|_| corrupt("request_key"))?,
            fingerprint: fingerprint(row)?,
            // The row is this fingerprint's, whoever made the key: refusals of others do not stand in
            // its way, as they do not under a generated key.
            kind: KeyKind::Generated,
        },
        memo: row.get::<Option<Vec<u8>>>("body")?.unwrap_or_default(),
        called_until: row.get::<i64>("called_until")?.cast_unsigned(),
    })
}

fn fingerprint<DB: Dialect>(row: &Columns<DB>) -> Result<Fingerprint, sqlx::Error> {
    let text: String = row.get("fingerprint")?;
    Fingerprint::parse(&text).ok_or_else(|| corrupt("fingerprint"))
}

fn corrupt(column: &str) -> sqlx::Error {
    let what =
        format!("the ledger's column {column} holds an unknown word; a newer version wrote it");
    sqlx::Error::Decode(what.into())
}

/// One header a line, as on the wire: neither a name nor a value can contain a line break.
fn write_headers(headers: &[(String, String)]) -> String {
    headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect()
}

fn read_headers(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
