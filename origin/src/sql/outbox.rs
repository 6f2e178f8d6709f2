//! The outbox's statements.

use super::{Dialect, Row, Sql, Statements};
use crate::id::Id;
use crate::outbox::{Message, Owed};

/// What is due: the first undelivered message of each aggregate, unless a relay has it.
const DUE: Sql = {
    macro_rules! due {
        ($suffix:literal) => {
            concat!(
                "SELECT id, aggregate, topic, payload, attempts FROM outbox
                 WHERE state = 'pending' AND due_at <= ? AND lease_until <= ?
                 AND NOT EXISTS (
                     SELECT 1 FROM outbox AS earlier
                     WHERE earlier.aggregate = outbox.aggregate AND earlier.place < outbox.place
                     AND earlier.state <> 'delivered')
                 ORDER BY due_at, id LIMIT 32",
                $suffix
            )
        };
    }
    Sql {
        mysql: due!(" FOR UPDATE SKIP LOCKED"),
        postgres: due!(" FOR UPDATE OF outbox SKIP LOCKED"),
        // Whoever writes has the whole file.
        sqlite: due!(""),
    }
};

pub(crate) async fn insert<DB: Dialect>(
    connection: &mut DB::Connection,
    owed: &Owed,
    now_ms: u64,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO outbox (id, aggregate, place, topic, payload, state, attempts, due_at,
                                   lease_until, created_at)
               VALUES (?, ?, ?, ?, ?, 'pending', 0, ?, 0, ?)";
    let now = now_ms.cast_signed();
    let payload = owed.payload.to_string();
    let values = [
        (&owed.id).into(),
        (&owed.aggregate).into(),
        owed.place.into(),
        owed.topic.into(),
        (&payload).into(),
        now.into(),
        now.into(),
    ];
    connection.run(sql, &values).await?;
    Ok(())
}

/// Leases what is due to a relay. Nothing of it counts as tried yet.
pub(crate) async fn take<DB: Dialect>(
    connection: &mut DB::Connection,
    owner: Id<'_>,
    now_ms: u64,
    lease_ms: u64,
) -> Result<Vec<Message>, sqlx::Error> {
    let now = now_ms.cast_signed();
    let due = connection.all(DUE, &[now.into(), now.into()]).await?;
    let messages: Vec<Message> = due.iter().map(read).collect::<Result<_, _>>()?;
    let until = (now_ms + lease_ms).cast_signed();
    for message in &messages {
        let sql = "UPDATE outbox SET owner = ?, lease_until = ? WHERE id = ?";
        let values = [owner.into(), until.into(), (&message.id).into()];
        connection.run(sql, &values).await?;
    }
    Ok(messages)
}

/// Counts an attempt and renews the lease, if the relay still has it. Says which attempt it is.
pub(crate) async fn begin<DB: Dialect>(
    connection: &mut DB::Connection,
    owner: Id<'_>,
    id: &str,
    until_ms: u64,
) -> Result<Option<i64>, sqlx::Error> {
    let sql = "UPDATE outbox SET attempts = attempts + 1, lease_until = ?
               WHERE id = ? AND owner = ? AND state = 'pending'";
    let values = [until_ms.cast_signed().into(), id.into(), owner.into()];
    if connection.run(sql, &values).await? == 0 {
        return Ok(None);
    }
    let sql = "SELECT attempts FROM outbox WHERE id = ?";
    let row = connection.first(sql, &[id.into()]).await?;
    row.map(|row| row.get("attempts")).transpose()
}

/// Only the relay that has the lease marks: one that was overtaken has nothing to say any more.
pub(crate) async fn delivered<DB: Dialect>(
    connection: &mut DB::Connection,
    owner: Id<'_>,
    id: &str,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE outbox SET state = 'delivered', owner = NULL, lease_until = 0
               WHERE id = ? AND owner = ? AND state = 'pending'";
    connection.run(sql, &[id.into(), owner.into()]).await?;
    Ok(())
}

pub(crate) async fn failed<DB: Dialect>(
    connection: &mut DB::Connection,
    owner: Id<'_>,
    id: &str,
    is_dead: bool,
    due_ms: u64,
    error: &str,
) -> Result<(), sqlx::Error> {
    let sql =
        "UPDATE outbox SET state = ?, due_at = ?, last_error = ?, owner = NULL, lease_until = 0
               WHERE id = ? AND owner = ? AND state = 'pending'";
    let values = [
        if is_dead { "dead" } else { "pending" }.into(),
        due_ms.cast_signed().into(),
        error.into(),
        id.into(),
        owner.into(),
    ];
    connection.run(sql, &values).await?;
    Ok(())
}

pub(crate) async fn revive<DB: Dialect>(
    connection: &mut DB::Connection,
    now_ms: u64,
) -> Result<u64, sqlx::Error> {
    let sql = "UPDATE outbox SET state = 'pending', attempts = 0, due_at = ? WHERE state = 'dead'";
    connection.run(sql, &[now_ms.cast_signed().into()]).await
}

fn read<DB: Dialect>(row: &Row<DB>) -> Result<Message, sqlx::Error> {
    let attempts: i64 = row.get("attempts")?;
    Ok(Message {
        id: row.get("id")?,
        aggregate: row.get("aggregate")?,
        topic: row.get("topic")?,
        payload: row.get("payload")?,
        attempt: attempts,
    })
}
