-- What a service needs that owes messages, receives them, and runs jobs. Times are in milliseconds since the Unix epoch.

-- Side effects that are owed, written in the transaction that owes them. The relay delivers a row
-- only when nothing of the same aggregate with a lower place is undelivered.
CREATE TABLE outbox (
    id          VARBINARY(255) PRIMARY KEY,
    aggregate   VARBINARY(255) NOT NULL,
    place       BIGINT NOT NULL,
    topic       VARCHAR(64) NOT NULL,
    payload     TEXT NOT NULL,
    -- 'pending', 'delivered', or 'dead': tried too often, and waiting for a person.
    state       VARCHAR(16) NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
    attempts    BIGINT NOT NULL,
    due_at      BIGINT NOT NULL,
    -- The relay that has it, and until when.
    owner       VARBINARY(255),
    lease_until BIGINT NOT NULL,
    last_error  TEXT,
    created_at  BIGINT NOT NULL,
    UNIQUE (aggregate, place)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;
CREATE INDEX outbox_due ON outbox (state, due_at);

-- What a consumer has had. Inserted first: the row is the permission to act. Kept for longer than
-- the broker delivers again.
CREATE TABLE consumed (
    consumer    VARBINARY(255) NOT NULL,
    message     VARBINARY(255) NOT NULL,
    consumed_at BIGINT NOT NULL,
    PRIMARY KEY (consumer, message)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;
CREATE INDEX consumed_age ON consumed (consumed_at);

-- Who works at a task, and until when.
CREATE TABLE task_locks (
    task        VARBINARY(255) PRIMARY KEY,
    owner       VARBINARY(255),
    lease_until BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

CREATE TABLE job_runs (
    id         VARBINARY(255) PRIMARY KEY,
    task       VARBINARY(255) NOT NULL,
    started_at BIGINT NOT NULL,
    -- NULL in the run of a process that died, or is at work.
    ended_at   BIGINT,
    settled    BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;
