-- The scenarios of the shop, each with the unique index that it rests on. Times are in milliseconds.

-- Where an order stands (core::lifecycle). What was placed before stood here was paid at once.
ALTER TABLE orders ADD COLUMN status BIGINT NOT NULL DEFAULT 2;

-- What the payment provider called back about. One row for each payment number, whatever came of it:
-- 'settled' paid its order; 'surplus' is money that no order waits for, and has to be given back.
CREATE TABLE callbacks (
    pay_no       TEXT PRIMARY KEY,
    order_id     TEXT NOT NULL REFERENCES orders (id),
    amount_cents BIGINT NOT NULL,
    outcome      TEXT NOT NULL CHECK (outcome IN ('settled', 'surplus')),
    created_at   BIGINT NOT NULL
);

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

-- Every change of a stock outside the orders that are paid at once, with the operation's id.
CREATE TABLE stock_moves (
    id         TEXT PRIMARY KEY,
    sku        TEXT NOT NULL REFERENCES products (sku),
    -- What left the shelf; below zero, what came back.
    quantity   BIGINT NOT NULL,
    -- What was asked for and not there.
    missing    BIGINT NOT NULL CHECK (missing >= 0),
    created_at BIGINT NOT NULL
);

CREATE TABLE coupons (
    order_id   TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL
);

-- What customers were told.
CREATE TABLE notices (
    id         TEXT PRIMARY KEY,
    order_id   TEXT NOT NULL,
    words      TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE accounts (
    user_id TEXT PRIMARY KEY,
    points  BIGINT NOT NULL CHECK (points >= 0)
);

-- Every change of an account, with the operation's id.
CREATE TABLE point_operations (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    amount     BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE members (
    activity  TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (activity, user_id)
);

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

-- What a merchant is owed for an order that is finished.
CREATE TABLE settlements (
    order_id     TEXT PRIMARY KEY,
    merchant     TEXT NOT NULL,
    amount_cents BIGINT NOT NULL,
    -- INIT 0, SETTLING 1, DONE 2 (core::lifecycle).
    status       BIGINT NOT NULL,
    run_id       TEXT,
    created_at   BIGINT NOT NULL
);
CREATE INDEX settlements_open ON settlements (status);

CREATE TABLE merchants (
    merchant      TEXT PRIMARY KEY,
    balance_cents BIGINT NOT NULL
);

-- Every payment to a merchant, by the order that it is for.
CREATE TABLE payouts (
    order_id     TEXT PRIMARY KEY,
    merchant     TEXT NOT NULL,
    amount_cents BIGINT NOT NULL,
    created_at   BIGINT NOT NULL
);
