-- The reference shop: coffee and ceramics. Money is in cents, times in milliseconds.
CREATE TABLE products (
    sku           TEXT   PRIMARY KEY,
    -- The order on the shelf.
    place         BIGINT NOT NULL,
    name          TEXT   NOT NULL,
    name_zh       TEXT   NOT NULL,
    price_cents   BIGINT NOT NULL CHECK (price_cents > 0),
    stock         BIGINT NOT NULL CHECK (stock >= 0),
    initial_stock BIGINT NOT NULL CHECK (initial_stock >= 0)
);

CREATE TABLE orders (
    id          TEXT   PRIMARY KEY,
    -- The key. Unique a second time, independently of the ledger: the business's own floor.
    request_id  TEXT   NOT NULL UNIQUE,
    email       TEXT   NOT NULL,
    total_cents BIGINT NOT NULL,
    currency    TEXT   NOT NULL,
    created_at  BIGINT NOT NULL
);

CREATE TABLE order_items (
    order_id    TEXT   NOT NULL REFERENCES orders (id),
    line        BIGINT NOT NULL,
    sku         TEXT   NOT NULL REFERENCES products (sku),
    name        TEXT   NOT NULL,
    quantity    BIGINT NOT NULL CHECK (quantity > 0),
    price_cents BIGINT NOT NULL,
    PRIMARY KEY (order_id, line)
);

CREATE TABLE payments (
    id           TEXT   PRIMARY KEY,
    order_id     TEXT   NOT NULL UNIQUE REFERENCES orders (id),
    amount_cents BIGINT NOT NULL,
    currency     TEXT   NOT NULL,
    card_last4   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL
);

INSERT INTO products (place, sku, name, name_zh, price_cents, stock, initial_stock) VALUES
    (1, 'mug',     'Stoneware mug, ash glaze',           '灰釉陶杯',         2400, 100, 100),
    (2, 'cup',     'Espresso cup with saucer',           '浓缩咖啡杯碟套装', 1850,  80,  80),
    (3, 'dripper', 'Porcelain dripper',                  '白瓷滤杯',         3200,  40,  40),
    (4, 'kettle',  'Gooseneck kettle, 0.9 l',            '细口手冲壶 0.9 升', 6900,  20,  20),
    (5, 'beans',   'Ethiopia Guji, whole beans, 250 g',  '埃塞俄比亚古吉咖啡豆 250 克', 1450, 5000, 5000),
    (6, 'tin',     'Coffee tin with a wooden lid',       '木盖咖啡罐',       2100,  60,  60);
