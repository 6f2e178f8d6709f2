-- The ledger: what became of each key.
--
-- One unique index, (key, slot), is the last line of defence. The slot is empty for the row that
-- there can be only once under a key (the claim of the running attempt, which becomes executed or
-- cancelled), and the fingerprint for a refusal, of which a generated key may have several.
-- A claim is never visible to others: its transaction turns it into something else or rolls back.
CREATE TABLE idempotency_ledger (
    key         TEXT    NOT NULL,
    slot        TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('claimed', 'executed', 'refused', 'cancelled')),
    -- The stored answer: status, header lines, body. A cancelled row has none.
    status      INTEGER,
    headers     TEXT,
    body        BLOB,
    -- Milliseconds since the Unix epoch.
    claimed_at  INTEGER NOT NULL,
    PRIMARY KEY (key, slot),
    CHECK (slot = CASE state WHEN 'refused' THEN fingerprint ELSE '' END),
    CHECK ((status IS NOT NULL) = (state IN ('executed', 'refused')))
) STRICT, WITHOUT ROWID;
