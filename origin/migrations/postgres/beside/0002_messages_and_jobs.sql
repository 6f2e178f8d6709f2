-- What a service needs that owes messages, receives them, and runs jobs. Times are in milliseconds since the Unix epoch.

-- Side effects that are owed, written in the transaction that owes them. The relay delivers a row
-- only when nothing of the same aggregate with a lower place is undelivered.
CREATE TABLE outbox (
    id          TEXT PRIMARY KEY,
    aggregate   TEXT NOT NULL,
    place       BIGINT NOT NULL,
    topic       TEXT NOT NULL,
    payload     TEXT NOT NULL,
    -- 'pending', 'delivered', or 'dead': tried too often, and waiting for a person.
    state       TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
    attempts    BIGINT NOT NULL,
    due_at      BIGINT NOT NULL,
    -- The relay that has it, and until when.
    owner       TEXT,
    lease_until BIGINT NOT NULL,
    last_error  TEXT,
    created_at  BIGINT NOT NULL,
    UNIQUE (aggregate, place)
);
CREATE INDEX outbox_due ON outbox (state, due_at);

-- What a consumer has had. Inserted first: the row is the permission to act. Kept for longer than
-- the broker delivers again.
CREATE TABLE consumed (
    consumer    TEXT NOT NULL,
    message     TEXT NOT NULL,
    consumed_at BIGINT NOT NULL,
    PRIMARY KEY (consumer, message)
);
CREATE INDEX consumed_age ON consumed (consumed_at);

-- Who works at a task, and until when.
CREATE TABLE task_locks (
    task        TEXT PRIMARY KEY,
    owner       TEXT,
    lease_until BIGINT NOT NULL
);

CREATE TABLE job_runs (
    id         TEXT PRIMARY KEY,
    task       TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    -- NULL in the run of a process that died, or is at work.
    ended_at   BIGINT,
    settled    BIGINT NOT NULL
);
