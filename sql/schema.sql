-- The schema, one block a version. A server runs the blocks above the database's version, in order, in one
-- transaction and as statements of PL/pgSQL; blocks are never edited once released.

-- version: 1

-- A product and its sale. Every write of stock adds one to version and names the epoch; a PUT starts a new
-- epoch. The CHECK is a backstop for our own bugs: no business answer may come from it. fillfactor leaves
-- room for HOT updates: a hot product's row is rewritten thousands of times a second.
CREATE TABLE product (
    id             bigint PRIMARY KEY,
    name           text,
    initial_stock  bigint NOT NULL,
    stock          bigint NOT NULL CHECK (stock >= 0),
    limit_per_user bigint,
    opens_at       timestamptz,
    closes_at      timestamptz,
    epoch          bigint NOT NULL,
    version        bigint NOT NULL,
    fence          bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- status: 0 queued, 1 confirmed, 2 cancelled, 3 failed. Rows of an earlier epoch are gone for every reader
-- and are deleted later. A failed row without a key is also how a lost COMMIT is settled: whoever inserts
-- the id first, the order or its tombstone, decides.
CREATE TABLE orders (
    id              uuid PRIMARY KEY,
    product_id      bigint NOT NULL,
    epoch           bigint NOT NULL,
    user_id         bigint NOT NULL,
    quantity        bigint NOT NULL CHECK (quantity > 0),
    strategy        text NOT NULL,
    status          smallint NOT NULL,
    reason          text,
    idempotency_key text,
    created_at      timestamptz NOT NULL
);
CREATE INDEX orders_product ON orders (product_id, id);
CREATE INDEX orders_user ON orders (user_id, id);
CREATE UNIQUE INDEX orders_key ON orders (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Units a user holds of a product in an epoch; kept only for products with a limit.
CREATE TABLE purchase (
    product_id bigint NOT NULL,
    user_id    bigint NOT NULL,
    epoch      bigint NOT NULL,
    units      bigint NOT NULL CHECK (units >= 0),
    PRIMARY KEY (product_id, user_id)
) WITH (fillfactor = 80);

-- Stock added after the PUT. A row with quantity 0 is a tombstone, as in orders.
CREATE TABLE restock (
    id              uuid PRIMARY KEY,
    product_id      bigint NOT NULL,
    epoch           bigint NOT NULL,
    quantity        bigint NOT NULL CHECK (quantity >= 0),
    strategy        text NOT NULL,
    idempotency_key text,
    created_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX restock_key ON restock (product_id, epoch, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX restock_product ON restock (product_id, epoch);

-- Sales that a PUT ended and whose rows are still to be deleted.
CREATE TABLE retired (
    product_id bigint NOT NULL,
    epoch      bigint NOT NULL,
    PRIMARY KEY (product_id, epoch)
);

-- version: 2

-- A hot product's stock over several rows (strategy `buckets`), numbered from 0 without a gap. `split` says that
-- there are some; they are made, folded back and deleted under the product's row lock alone. A PUT deletes them,
-- and so waits for whoever holds one: after it nobody can sell from an earlier epoch.
ALTER TABLE product ADD COLUMN split boolean NOT NULL DEFAULT false;
CREATE TABLE bucket (
    product_id bigint NOT NULL,
    n          bigint NOT NULL,
    epoch      bigint NOT NULL,
    stock      bigint NOT NULL CHECK (stock >= 0),
    PRIMARY KEY (product_id, n)
) WITH (fillfactor = 50);

-- Who holds a product's lock (strategy `lock-row`), and until when by this database's clock.
CREATE TABLE product_lock (
    product_id  bigint PRIMARY KEY,
    owner       text NOT NULL,
    lease_until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- When a queued order was last sent to the broker, or was about to be; and the queued ones by that time, for
-- whoever sends again what was lost.
ALTER TABLE orders ADD COLUMN published_at timestamptz;
CREATE INDEX orders_queued ON orders (published_at) WHERE status = 0;

-- version: 3

-- No two entries of these are alike, since each ends with the order's id: PostgreSQL need not look through a full page
-- for duplicates.
ALTER INDEX orders_product SET (deduplicate_items = off);
ALTER INDEX orders_user SET (deduplicate_items = off);

-- version: 4

-- Where this database's epochs begin: a product's first one is base + 1. Each database that is made has another base, so
-- that what is kept outside of a sale (redis-stock's mirrors), or is still under way, never fits a sale of the same
-- number in a database that was lost and made again. 2^26 epochs fit between two bases, and all of them are numbers that
-- Lua writes with every digit. One that has sales keeps the epochs that it has.
CREATE TABLE epoch_base (base bigint NOT NULL);
INSERT INTO epoch_base
SELECT CASE WHEN EXISTS (SELECT FROM product) THEN 0 ELSE (1 + floor(random() * (1 << 20))::bigint) << 26 END;

-- version: 5

-- Where an order stands among all others: the transaction that wrote its row. Below a snapshot's xmin nothing is added
-- any more, so whoever reads in this order and stops there misses nothing, however late an order commits. Ids cannot
-- say that: they are made when orders arrive, by several clocks.
ALTER TABLE orders ADD COLUMN entered xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX orders_entered ON orders (entered, id) WITH (deduplicate_items = off);
DROP INDEX orders_product, orders_user;
CREATE INDEX orders_product ON orders (product_id, entered, id) WITH (deduplicate_items = off);
CREATE INDEX orders_user ON orders (user_id, entered) WITH (deduplicate_items = off);

-- What an order became after its row was written: a status each, in the transaction that gave it to the order.
CREATE TABLE order_change (
    id         uuid NOT NULL,
    product_id bigint NOT NULL,
    epoch      bigint NOT NULL,
    status     smallint NOT NULL,
    entered    xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX order_change_entered ON order_change (entered, id) WITH (deduplicate_items = off);
CREATE INDEX order_change_product ON order_change (product_id, epoch);

-- version: 6

-- Some commits of this sale's orders are answered after a later commit's flush (early lock release), so what its rows say
-- may be undone by a crash until the log is flushed. Said before the first of them; a PUT's new epoch takes it back.
ALTER TABLE product ADD COLUMN early_epoch bigint NOT NULL DEFAULT 0;
ALTER TABLE product ADD COLUMN early boolean GENERATED ALWAYS AS (early_epoch = epoch) STORED;

-- version: 7

-- Orders that wait to be paid. A product's hold, in seconds; NULL: the server's. A queued order keeps what it asked for
-- (NULL: nothing) until it is decided. status 4 pending: its units are taken until hold_until; then 5 expired. expire_at is when
-- somebody is to end the hold: hold_until, and later each time that somebody has taken it on.
ALTER TABLE product ADD COLUMN hold_s bigint;
ALTER TABLE orders ADD COLUMN hold_s bigint, ADD COLUMN hold_until timestamptz, ADD COLUMN expire_at timestamptz;
CREATE INDEX orders_pending ON orders (expire_at) WHERE status = 4;

-- version: 8

-- Every table has a primary key: without one, logical replication that takes all tables refuses each UPDATE and DELETE.
-- The table of the versions is not there where a reader of this file keeps none.
ALTER TABLE IF EXISTS seckill_schema ADD PRIMARY KEY (version);
ALTER TABLE epoch_base ADD PRIMARY KEY (base);
DROP INDEX order_change_entered;
ALTER TABLE order_change ADD PRIMARY KEY (entered, id, status) WITH (deduplicate_items = off);

-- No window begins or ends at 'infinity', which no answer can say; one that did means the same afterwards.
UPDATE product SET opens_at = CASE opens_at WHEN 'infinity' THEN '9999-12-31 00:00Z' WHEN '-infinity' THEN NULL
                              ELSE opens_at END,
                   closes_at = CASE closes_at WHEN '-infinity' THEN '0001-01-02 00:00Z' WHEN 'infinity' THEN NULL
                               ELSE closes_at END
WHERE NOT isfinite(opens_at) OR NOT isfinite(closes_at);
ALTER TABLE product ADD CHECK (isfinite(opens_at)), ADD CHECK (isfinite(closes_at));
