-- The scenarios of the shop, each with the unique index that it rests on. Times are in milliseconds.

-- Where an order stands (core::lifecycle). What was placed before stood here was paid at once.
ALTER TABLE orders ADD COLUMN status BIGINT NOT NULL DEFAULT 2;

-- What the payment provider called back about. One row for each payment number, whatever came of it:
-- 'settled' paid its order; 'surplus' is money that no order waits for, and has to be given back.
CREATE TABLE callbacks (
    pay_no       VARBINARY(255) PRIMARY KEY,
    order_id     VARBINARY(64) NOT NULL,
    amount_cents BIGINT NOT NULL,
    outcome      VARCHAR(16) NOT NULL CHECK (outcome IN ('settled', 'surplus')),
    created_at   BIGINT NOT NULL,
    FOREIGN KEY (order_id) REFERENCES orders (id)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

-- Every change of a stock outside the orders that are paid at once, with the operation's id.
CREATE TABLE stock_moves (
    id         VARBINARY(255) PRIMARY KEY,
    sku        VARBINARY(64) NOT NULL,
    -- What left the shelf; below zero, what came back.
    quantity   BIGINT NOT NULL,
    -- What was asked for and not there.
    missing    BIGINT NOT NULL CHECK (missing >= 0),
    created_at BIGINT NOT NULL,
    FOREIGN KEY (sku) REFERENCES products (sku)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

CREATE TABLE coupons (
    order_id   VARBINARY(255) PRIMARY KEY,
    created_at BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

-- What customers were told.
CREATE TABLE notices (
    id         VARBINARY(255) PRIMARY KEY,
    order_id   VARBINARY(255) NOT NULL,
    words      TEXT NOT NULL,
    created_at BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

CREATE TABLE accounts (
    user_id VARBINARY(255) PRIMARY KEY,
    points  BIGINT NOT NULL CHECK (points >= 0)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

-- Every change of an account, with the operation's id.
CREATE TABLE point_operations (
    id         VARBINARY(255) PRIMARY KEY,
    user_id    VARBINARY(255) NOT NULL,
    amount     BIGINT NOT NULL,
    created_at BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

CREATE TABLE members (
    activity  VARBINARY(255) NOT NULL,
    user_id   VARBINARY(255) NOT NULL,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (activity, user_id)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

-- What a merchant is owed for an order that is finished.
CREATE TABLE settlements (
    order_id     VARBINARY(255) PRIMARY KEY,
    merchant     VARBINARY(255) NOT NULL,
    amount_cents BIGINT NOT NULL,
    -- INIT 0, SETTLING 1, DONE 2 (core::lifecycle).
    status       BIGINT NOT NULL,
    run_id       VARBINARY(255),
    created_at   BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;
CREATE INDEX settlements_open ON settlements (status);

CREATE TABLE merchants (
    merchant      VARBINARY(255) PRIMARY KEY,
    balance_cents BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

-- Every payment to a merchant, by the order that it is for.
CREATE TABLE payouts (
    order_id     VARBINARY(255) PRIMARY KEY,
    merchant     VARBINARY(255) NOT NULL,
    amount_cents BIGINT NOT NULL,
    created_at   BIGINT NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;
