-- Messages that nobody could work off, until a person replays or discards them. What others wrote is kept as
-- bytes: it may hold what no text may.
CREATE TABLE dead_letters (
    -- When it was sent, and its number with the broker: the order in which they are replayed.
    place        TEXT PRIMARY KEY,
    message      BYTEA,
    -- What it is about: later messages about the same are kept as well. Empty if nobody said.
    aggregate    TEXT NOT NULL,
    topic        BYTEA NOT NULL,
    payload      BYTEA NOT NULL,
    deliveries   BIGINT NOT NULL,
    reason       BYTEA NOT NULL,
    published_at BIGINT NOT NULL,
    died_at      BIGINT NOT NULL
);
CREATE INDEX dead_letters_about ON dead_letters (aggregate);
