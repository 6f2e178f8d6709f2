-- The ledger: what became of each key. For MySQL 8.0.16 and MariaDB 10.5, or newer.
--
-- One unique index, (request_key, slot), is the last line of defence. The slot is empty for the row that
-- there can be only once under a key (the claim of the running attempt, which becomes executed,
-- cancelled or started), and the fingerprint for a refusal, of which a generated key may have several.
-- A claim is never visible to others: its transaction turns it into something else or rolls back.
CREATE TABLE idempotency_ledger (
    -- Bytes and not text: two keys are one only if they are written alike, and collations take 'a', 'A'
    -- and 'a ' for one.
    request_key  VARBINARY(255) NOT NULL,
    slot         VARBINARY(64)  NOT NULL,
    fingerprint  VARBINARY(64)  NOT NULL,
    state        VARCHAR(9)     CHARACTER SET ascii NOT NULL,
    -- The stored answer: status, header lines, body. Only what was executed or refused has one.
    status       BIGINT,
    headers      MEDIUMTEXT     CHARACTER SET utf8mb4,
    body         MEDIUMBLOB,
    -- An effect outside the database (a payment): the name under which every call of it is made, how
    -- often and when it was called, and until when whoever called last may be waiting for the answer.
    -- While there is no answer, the body is what the call can be made again with.
    provider_key VARCHAR(64)    CHARACTER SET ascii,
    calls        BIGINT         NOT NULL DEFAULT 0,
    called_at    BIGINT,
    called_until BIGINT,
    -- Milliseconds since the Unix epoch: when the key came, and when the row got its last state.
    claimed_at   BIGINT         NOT NULL,
    settled_at   BIGINT,
    PRIMARY KEY (request_key, slot),
    -- For the purge, and for the recovery of effects outside the database.
    KEY idempotency_ledger_settled (settled_at),
    KEY idempotency_ledger_started (state, called_until),
    CHECK (state IN ('claimed', 'started', 'executed', 'refused', 'cancelled')),
    CHECK (slot = CASE state WHEN 'refused' THEN fingerprint ELSE '' END),
    CHECK ((status IS NOT NULL) = (state IN ('executed', 'refused'))),
    CHECK ((settled_at IS NOT NULL) = (state IN ('executed', 'refused', 'cancelled')))
) ENGINE = InnoDB;
