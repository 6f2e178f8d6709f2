-- Messages that nobody could work off, until a person replays or discards them. What others wrote is kept as
-- bytes: it may hold what no text may.
CREATE TABLE dead_letters (
    -- When it was sent, and its number with the broker: the order in which they are replayed.
    place        VARBINARY(64) PRIMARY KEY,
    message      LONGBLOB,
    -- What it is about: later messages about the same are kept as well. Empty if nobody said.
    aggregate    VARBINARY(255) NOT NULL,
    topic        LONGBLOB NOT NULL,
    payload      LONGBLOB NOT NULL,
    deliveries   BIGINT NOT NULL,
    reason       LONGBLOB NOT NULL,
    published_at BIGINT NOT NULL,
    died_at      BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;
CREATE INDEX dead_letters_about ON dead_letters (aggregate);
