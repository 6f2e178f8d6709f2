//! The ledger's statements. All of them run inside the transaction that holds the key's claim.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::ledger::{Row, State};
use sqlx::{Row as _, query};

use super::Connection;
use crate::ledger::{Answer, Call};

/// Takes the key: inserts the row that only one attempt can insert. Where another transaction holds
/// it, this waits until that one ends. If the key was executed or cancelled, nothing is inserted:
/// [`rows`] then has the row that it met.
pub(crate) async fn claim(
    connection: &mut Connection,
    call: &Call,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO idempotency_ledger (key, slot, fingerprint, state, claimed_at)
         VALUES (?, '', ?, 'claimed', ?)
         ON CONFLICT (key, slot) DO NOTHING",
    )
    .bind(call.key.as_str())
    .bind(call.fingerprint.to_string())
    .bind(now_ms.cast_signed())
    .execute(connection)
    .await?;
    Ok(())
}

/// Every row under a key except the claim.
pub(crate) async fn rows(
    connection: &mut Connection,
    call: &Call,
) -> Result<Vec<Row<Answer>>, sqlx::Error> {
    query(
        "SELECT state, fingerprint, status, headers, body
         FROM idempotency_ledger WHERE key = ? AND state <> 'claimed'",
    )
    .bind(call.key.as_str())
    .fetch_all(connection)
    .await?
    .iter()
    .map(read)
    .collect()
}

/// Turns the claim into what became of it. A cancelled row has no answer. Without a claim this is an
/// error: then nothing may be committed, whatever led here.
pub(crate) async fn settle(
    connection: &mut Connection,
    call: &Call,
    state: State,
    answer: Option<&Answer>,
) -> Result<(), sqlx::Error> {
    let fingerprint = call.fingerprint.to_string();
    let settled = query(
        "UPDATE idempotency_ledger
         SET slot = ?, state = ?, status = ?, headers = ?, body = ?
         WHERE key = ? AND slot = '' AND state = 'claimed'",
    )
    .bind(if state == State::Refused {
        &fingerprint
    } else {
        ""
    })
    .bind(state.as_str())
    .bind(answer.map(|answer| answer.status))
    .bind(answer.map(|answer| write_headers(&answer.headers)))
    .bind(answer.map(|answer| answer.body.as_slice()))
    .bind(call.key.as_str())
    .execute(connection)
    .await?
    .rows_affected();
    match settled {
        1 => Ok(()),
        _ => Err(sqlx::Error::Protocol(
            "the ledger has no claim to settle".into(),
        )),
    }
}

/// Forgets every key.
pub(crate) async fn clear(connection: &mut Connection) -> Result<(), sqlx::Error> {
    query("DELETE FROM idempotency_ledger")
        .execute(connection)
        .await?;
    Ok(())
}

fn read(row: &sqlx::sqlite::SqliteRow) -> Result<Row<Answer>, sqlx::Error> {
    let state: String = row.try_get("state")?;
    let fingerprint: String = row.try_get("fingerprint")?;
    let corrupt = |column: &str| {
        sqlx::Error::Decode(
            format!("the ledger's column {column} holds an unknown word; a newer version wrote it")
                .into(),
        )
    };
    let headers: Option<String> = row.try_get("headers")?;
    Ok(Row {
        state: State::parse(&state).ok_or_else(|| corrupt("state"))?,
        fingerprint: Fingerprint::parse(&fingerprint).ok_or_else(|| corrupt("fingerprint"))?,
        answer: Answer {
            status: row.try_get::<Option<u16>, _>("status")?.unwrap_or_default(),
            headers: read_headers(&headers.unwrap_or_default()),
            body: row
                .try_get::<Option<Vec<u8>>, _>("body")?
                .unwrap_or_default(),
        },
    })
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
