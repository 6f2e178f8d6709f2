//! The ledger's statements. All of them run inside the transaction that holds the key's claim.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::ledger::{Row, State};

use super::dialect::Row as Columns;
use super::{Dialect, Meaning, Sql, Statements};
use crate::clock::now_ms;
use crate::ledger::{Answer, Call};

/// Where another transaction holds the key, the insert waits until that one ends. It is a duplicate
/// only if it meets the ledger's own index: that is what `ON CONFLICT (request_key, slot)` names.
/// MySQL has no such words, and says in its error which index it was.
const CLAIM: Sql = {
    const PLAIN: &str = "INSERT INTO idempotency_ledger
             (request_key, slot, fingerprint, state, claimed_at)
         VALUES (?, '', ?, 'claimed', ?)";
    const OR_NOTHING: &str = "INSERT INTO idempotency_ledger
             (request_key, slot, fingerprint, state, claimed_at)
         VALUES (?, '', ?, 'claimed', ?)
         ON CONFLICT (request_key, slot) DO NOTHING";
    Sql {
        mysql: PLAIN,
        postgres: OR_NOTHING,
        sqlite: OR_NOTHING,
    }
};

/// Takes the key: inserts the row that only one attempt can insert. If the key has one already,
/// nothing is inserted: [`rows`] then has the row that it met.
pub(crate) async fn claim<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    let claimed = connection
        .run(
            CLAIM,
            &[
                call.key.as_str().into(),
                (&call.fingerprint.to_string()).into(),
                now_ms.cast_signed().into(),
            ],
        )
        .await;
    match claimed {
        Err(error) if !is_own_index::<DB>(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Whether it is the ledger's own unique index that was violated. The names are MySQL's, where the
/// index of the primary key is called so, and that of its table may stand before it.
fn is_own_index<DB: Dialect>(error: &sqlx::Error) -> bool {
    const NAMES: [&str; 2] = ["'PRIMARY'", "'idempotency_ledger.PRIMARY'"];
    let message = error
        .as_database_error()
        .map_or("", |error| error.message());
    DB::meaning(error) == Meaning::Duplicate && NAMES.iter().any(|name| message.ends_with(name))
}

/// Every row under a key except the claim.
pub(crate) async fn rows<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
) -> Result<Vec<Row<Answer>>, sqlx::Error> {
    connection
        .all(
            "SELECT state, fingerprint, status, headers, body
             FROM idempotency_ledger WHERE request_key = ? AND state <> 'claimed'",
            &[call.key.as_str().into()],
        )
        .await?
        .iter()
        .map(read)
        .collect()
}

/// Turns the claim into what became of it. A cancelled row has no answer. Without a claim this is an
/// error: then nothing may be committed, whatever led here.
pub(crate) async fn settle<DB: Dialect>(
    connection: &mut DB::Connection,
    call: &Call,
    state: State,
    answer: Option<&Answer>,
) -> Result<(), sqlx::Error> {
    let fingerprint = call.fingerprint.to_string();
    let slot = match state {
        State::Refused => fingerprint.as_str(),
        _ => "",
    };
    let headers = answer.map(|answer| write_headers(&answer.headers));
    let settled = connection
        .run(
            "UPDATE idempotency_ledger
             SET slot = ?, state = ?, status = ?, headers = ?, body = ?, settled_at = ?
             WHERE request_key = ? AND slot = '' AND state = 'claimed'",
            &[
                slot.into(),
                state.as_str().into(),
                answer.map(|answer| i64::from(answer.status)).into(),
                headers.as_deref().into(),
                answer.map(|answer| answer.body.as_slice()).into(),
                now_ms().cast_signed().into(),
                call.key.as_str().into(),
            ],
        )
        .await?;
    match settled {
        1 => Ok(()),
        _ => Err(sqlx::Error::Protocol(
            "the ledger has no claim to settle".into(),
        )),
    }
}

/// Forgets every key.
pub(crate) async fn clear<DB: Dialect>(connection: &mut DB::Connection) -> Result<(), sqlx::Error> {
    connection
        .run("DELETE FROM idempotency_ledger", &[])
        .await?;
    Ok(())
}

fn read<DB: Dialect>(row: &Columns<DB>) -> Result<Row<Answer>, sqlx::Error> {
    let state: String = row.get("state")?;
    let fingerprint: String = row.get("fingerprint")?;
    let corrupt = |column: &str| {
        sqlx::Error::Decode(
            format!("the ledger's column {column} holds an unknown word; a newer version wrote it")
                .into(),
        )
    };
    let status: Option<i64> = row.get("status")?;
    let headers: Option<String> = row.get("headers")?;
    let body: Option<Vec<u8>> = row.get("body")?;
    Ok(Row {
        state: State::parse(&state).ok_or_else(|| corrupt("state"))?,
        fingerprint: Fingerprint::parse(&fingerprint).ok_or_else(|| corrupt("fingerprint"))?,
        answer: Answer {
            status: u16::try_from(status.unwrap_or_default()).map_err(|_| corrupt("status"))?,
            headers: read_headers(&headers.unwrap_or_default()),
            body: body.unwrap_or_default(),
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
