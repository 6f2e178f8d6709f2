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
