-- The scenarios of the shop, each with the unique index that it rests on. Times are in milliseconds.

-- Where an order stands (core::lifecycle). What was placed before stood here was paid at once.
ALTER TABLE orders ADD COLUMN status INTEGER NOT NULL DEFAULT 2;

-- What the payment provider called back about. One row for each payment number, whatever came of it:
-- 'settled' paid its order; 'surplus' is money that no order waits for, and has to be given back.
CREATE TABLE callbacks (
    pay_no       TEXT PRIMARY KEY,
    order_id     TEXT NOT NULL REFERENCES orders (id),
    amount_cents INTEGER NOT NULL,
    outcome      TEXT NOT NULL CHECK (outcome IN ('settled', 'surplus')),
    created_at   INTEGER NOT NULL
) STRICT;

-- Every change of a stock outside the orders that are paid at once, with the operation's id.
CREATE TABLE stock_moves (
    id         TEXT PRIMARY KEY,
    sku        TEXT NOT NULL REFERENCES products (sku),
    -- What left the shelf; below zero, what came back.
    quantity   INTEGER NOT NULL,
    -- What was asked for and not there.
    missing    INTEGER NOT NULL CHECK (missing >= 0),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE coupons (
    order_id   TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL
) STRICT;

-- What customers were told.
CREATE TABLE notices (
    id         TEXT PRIMARY KEY,
    order_id   TEXT NOT NULL,
    words      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE accounts (
    user_id TEXT PRIMARY KEY,
    points  INTEGER NOT NULL CHECK (points >= 0)
) STRICT;

-- Every change of an account, with the operation's id.
CREATE TABLE point_operations (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    amount     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE members (
    activity  TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (activity, user_id)
) STRICT;

-- What a merchant is owed for an order that is finished.
CREATE TABLE settlements (
    order_id     TEXT PRIMARY KEY,
    merchant     TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    -- INIT 0, SETTLING 1, DONE 2 (core::lifecycle).
    status       INTEGER NOT NULL,
    run_id       TEXT,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX settlements_open ON settlements (status);

CREATE TABLE merchants (
    merchant      TEXT PRIMARY KEY,
    balance_cents INTEGER NOT NULL
) STRICT;

-- Every payment to a merchant, by the order that it is for.
CREATE TABLE payouts (
    order_id     TEXT PRIMARY KEY,
    merchant     TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
