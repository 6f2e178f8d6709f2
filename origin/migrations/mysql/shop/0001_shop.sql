-- The reference shop: coffee and ceramics. Money is in cents, times in milliseconds.
-- What is compared byte by byte is VARBINARY: collations take 'mug' and 'Mug' for one.
CREATE TABLE products (
    sku           VARBINARY(64) PRIMARY KEY,
    -- The order on the shelf.
    place         BIGINT       NOT NULL,
    name          VARCHAR(255) NOT NULL,
    name_zh       VARCHAR(255) NOT NULL,
    price_cents   BIGINT       NOT NULL CHECK (price_cents > 0),
    stock         BIGINT       NOT NULL CHECK (stock >= 0),
    initial_stock BIGINT       NOT NULL CHECK (initial_stock >= 0)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

CREATE TABLE orders (
    id          VARBINARY(64) PRIMARY KEY,
    -- The key. Unique a second time, independently of the ledger: the business's own floor.
    request_id  VARBINARY(255) NOT NULL UNIQUE,
    email       VARCHAR(255) NOT NULL,
    total_cents BIGINT       NOT NULL,
    currency    VARCHAR(255) NOT NULL,
    created_at  BIGINT       NOT NULL
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

CREATE TABLE order_items (
    order_id    VARBINARY(64) NOT NULL,
    line        BIGINT       NOT NULL,
    sku         VARBINARY(64) NOT NULL,
    name        VARCHAR(255) NOT NULL,
    quantity    BIGINT       NOT NULL CHECK (quantity > 0),
    price_cents BIGINT       NOT NULL,
    PRIMARY KEY (order_id, line),
    FOREIGN KEY (order_id) REFERENCES orders (id),
    FOREIGN KEY (sku) REFERENCES products (sku)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

CREATE TABLE payments (
    id           VARBINARY(64) PRIMARY KEY,
    order_id     VARBINARY(64) NOT NULL UNIQUE,
    amount_cents BIGINT       NOT NULL,
    currency     VARCHAR(255) NOT NULL,
    card_last4   VARCHAR(255) NOT NULL,
    created_at   BIGINT       NOT NULL,
    FOREIGN KEY (order_id) REFERENCES orders (id)
) ENGINE = InnoDB, CHARACTER SET utf8mb4;

INSERT INTO products (place, sku, name, name_zh, price_cents, stock, initial_stock) VALUES
    (1, 'mug',     'Stoneware mug, ash glaze',           '灰釉陶杯',         2400, 100, 100),
    (2, 'cup',     'Espresso cup with saucer',           '浓缩咖啡杯碟套装', 1850,  80,  80),
    (3, 'dripper', 'Porcelain dripper',                  '白瓷滤杯',         3200,  40,  40),
    (4, 'kettle',  'Gooseneck kettle, 0.9 l',            '细口手冲壶 0.9 升', 6900,  20,  20),
    (5, 'beans',   'Ethiopia Guji, whole beans, 250 g',  '埃塞俄比亚古吉咖啡豆 250 克', 1450, 5000, 5000),
    (6, 'tin',     'Coffee tin with a wooden lid',       '木盖咖啡罐',       2100,  60,  60);
