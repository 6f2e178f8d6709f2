-- The ledger: what became of each key.
--
-- One unique index, (request_key, slot), is the last line of defence. The slot is empty for the row that
-- there can be only once under a key (the claim of the running attempt, which becomes executed,
-- cancelled or started), and the fingerprint for a refusal, of which a generated key may have several.
-- A claim is never visible to others: its transaction turns it into something else or rolls back.
CREATE TABLE idempotency_ledger (
    -- Compared byte by byte: two keys are one only if they are written alike.
    request_key  TEXT   COLLATE "C" NOT NULL,
    slot         TEXT   COLLATE "C" NOT NULL,
    fingerprint  TEXT   COLLATE "C" NOT NULL,
    state        TEXT   COLLATE "C" NOT NULL
                 CHECK (state IN ('claimed', 'started', 'executed', 'refused', 'cancelled')),
    -- The stored answer: status, header lines, body. Only what was executed or refused has one.
    status       BIGINT,
    headers      TEXT,
    body         BYTEA,
    -- An effect outside the database (a payment): the name under which every call of it is made, how
    -- often and when it was called, and until when whoever called last may be waiting for the answer.
    -- While there is no answer, the body is what the call can be made again with.
    provider_key TEXT,
    calls        BIGINT NOT NULL DEFAULT 0,
    called_at    BIGINT,
    called_until BIGINT,
    -- Milliseconds since the Unix epoch: when the key came, and when the row got its last state.
    claimed_at   BIGINT NOT NULL,
    settled_at   BIGINT,
    CONSTRAINT idempotency_ledger_key PRIMARY KEY (request_key, slot),
    CHECK (slot = CASE state WHEN 'refused' THEN fingerprint ELSE '' END),
    CHECK ((status IS NOT NULL) = (state IN ('executed', 'refused'))),
    CHECK ((settled_at IS NOT NULL) = (state IN ('executed', 'refused', 'cancelled')))
);

-- For the purge.
CREATE INDEX idempotency_ledger_settled ON idempotency_ledger (settled_at) WHERE settled_at IS NOT NULL;
-- For the recovery of effects outside the database.
CREATE INDEX idempotency_ledger_started ON idempotency_ledger (called_until) WHERE state = 'started';
