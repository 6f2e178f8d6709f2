//! The statements of dead letters.

use super::work::{FirstInsert, first_insert, is_first};
use super::{Dialect, Row, Statements};
use crate::dead::DeadLetter;

const LETTER: FirstInsert = first_insert!(
    "dead_letters",
    "place, message, aggregate, topic, payload, deliveries, reason, published_at, died_at",
    "?, ?, ?, ?, ?, ?, ?, ?, ?",
    "place"
);

pub(crate) async fn insert<DB: Dialect>(
    connection: &mut DB::Connection,
    letter: &DeadLetter,
    now_ms: u64,
) -> Result<bool, sqlx::Error> {
    let values = [
        (&letter.place).into(),
        letter.message.as_deref().map(str::as_bytes).into(),
        (&letter.aggregate).into(),
        Some(letter.topic.as_bytes()).into(),
        Some(letter.payload.as_slice()).into(),
        letter.deliveries.into(),
        Some(letter.reason.as_bytes()).into(),
        letter.published_ms.cast_signed().into(),
        now_ms.cast_signed().into(),
    ];
    is_first::<DB>(connection, LETTER, &values).await
}

pub(crate) async fn holds<DB: Dialect>(
    connection: &mut DB::Connection,
    aggregate: &str,
) -> Result<bool, sqlx::Error> {
    let sql = "SELECT place FROM dead_letters WHERE aggregate = ? LIMIT 1";
    let found = connection.first(sql, &[aggregate.into()]).await?;
    Ok(found.is_some())
}

pub(crate) async fn list<DB: Dialect>(
    connection: &mut DB::Connection,
) -> Result<Vec<DeadLetter>, sqlx::Error> {
    let sql = "SELECT place, message, aggregate, topic, payload, deliveries, reason, published_at
               FROM dead_letters ORDER BY place";
    let rows = connection.all(sql, &[]).await?;
    rows.iter().map(read).collect()
}

pub(crate) async fn delete<DB: Dialect>(
    connection: &mut DB::Connection,
    place: &str,
) -> Result<bool, sqlx::Error> {
    let sql = "DELETE FROM dead_letters WHERE place = ?";
    Ok(connection.run(sql, &[place.into()]).await? == 1)
}

/// Texts of others are kept as bytes: they may hold what a database takes in no text.
fn read<DB: Dialect>(row: &Row<DB>) -> Result<DeadLetter, sqlx::Error> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let published: i64 = row.get("published_at")?;
    Ok(DeadLetter {
        place: row.get("place")?,
        message: row.get::<Option<Vec<u8>>>("message")?.map(text),
        aggregate: row.get("aggregate")?,
        topic: text(row.get("topic")?),
        payload: row.get("payload")?,
        deliveries: row.get("deliveries")?,
        reason: text(row.get("reason")?),
        published_ms: published.cast_unsigned(),
    })
}
