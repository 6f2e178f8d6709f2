-- Messages that nobody could work off, until a person replays or discards them. What others wrote is kept as
-- bytes: it may hold what no text may.
CREATE TABLE dead_letters (
    -- When it was sent, and its number with the broker: the order in which they are replayed.
    place        TEXT PRIMARY KEY,
    message      BLOB,
    -- What it is about: later messages about the same are kept as well. Empty if nobody said.
    aggregate    TEXT NOT NULL,
    topic        BLOB NOT NULL,
    payload      BLOB NOT NULL,
    deliveries   INTEGER NOT NULL,
    reason       BLOB NOT NULL,
    published_at INTEGER NOT NULL,
    died_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX dead_letters_about ON dead_letters (aggregate);
