-- Every statement of the server, by name. `-- name: x` makes SQL_X; parameters and results are binary.

-- name: begin
BEGIN

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- Reading the row that everything is about -----------------------------------------------------------------

-- name: product_read
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open
FROM product WHERE id = $1::bigint

-- name: product_lock
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open
FROM product WHERE id = $1::bigint FOR UPDATE

-- name: product_lock_nowait
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open
FROM product WHERE id = $1::bigint FOR UPDATE NOWAIT

-- Writing stock --------------------------------------------------------------------------------------------

-- The plain body's absolute figure: as safe as the lock around it.
-- name: stock_set
UPDATE product SET stock = $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint

-- name: stock_set_if_version
UPDATE product SET stock = $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint AND version = $4::bigint

-- Decides and writes at once, so the epoch is the row's own and comes back for the order.
-- name: stock_take
UPDATE product SET stock = stock - $2::bigint, version = version + 1
WHERE id = $1::bigint AND stock >= $2::bigint
  AND (opens_at IS NULL OR opens_at <= clock_timestamp())
  AND (closes_at IS NULL OR clock_timestamp() < closes_at)
RETURNING stock, epoch, version, limit_per_user, true

-- name: stock_add
UPDATE product SET stock = stock + $2::bigint, version = version + 1
WHERE id = $1::bigint
RETURNING stock, epoch, version, limit_per_user, true

-- name: stock_return
UPDATE product SET stock = stock + $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint

-- name: stock_return_fenced
UPDATE product SET stock = stock + $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint AND fence = $4::bigint

-- name: stock_add_fenced
UPDATE product SET stock = stock + $2::bigint, version = version + 1
WHERE id = $1::bigint AND fence = $3::bigint
RETURNING stock, epoch, version, limit_per_user, true

-- Committed at once after a lock was acquired and before anything is read under it: from here on the writes
-- of every earlier holder match no row (Kleppmann 2016, with the token registered at the read as well).
-- name: fence_register
UPDATE product SET fence = fence + 1 WHERE id = $1::bigint RETURNING fence

-- One order, one statement -----------------------------------------------------------------------------------

-- For a product without a limit and an order without a key, whose two halves cannot disagree.
-- name: conditional_buy
WITH taken AS (
    UPDATE product SET stock = stock - $4::bigint, version = version + 1
    WHERE id = $2::bigint AND stock >= $4::bigint AND limit_per_user IS NULL
      AND (opens_at IS NULL OR opens_at <= clock_timestamp())
      AND (closes_at IS NULL OR clock_timestamp() < closes_at)
    RETURNING id, epoch
)
INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at)
SELECT $1::uuid, id, epoch, $3::bigint, $4::bigint, $5::text, 1, $6::timestamptz FROM taken

-- The rows of one order ----------------------------------------------------------------------------------

-- A row of an earlier epoch counts as nothing.
-- name: purchase_add
INSERT INTO purchase AS held (product_id, user_id, epoch, units)
SELECT $1::bigint, $2::bigint, $3::bigint, $4::bigint WHERE $4::bigint <= $5::bigint
ON CONFLICT (product_id, user_id) DO UPDATE
SET units = CASE WHEN held.epoch = excluded.epoch THEN held.units ELSE 0 END + excluded.units,
    epoch = excluded.epoch
WHERE CASE WHEN held.epoch = excluded.epoch THEN held.units ELSE 0 END + excluded.units <= $5::bigint

-- Before order_cancel, by the lock order; so it looks whether that will match. The product's row is locked, so
-- nobody changes the order in between.
-- name: purchase_return
UPDATE purchase SET units = units - $4::bigint
WHERE product_id = $1::bigint AND user_id = $2::bigint AND epoch = $3::bigint
  AND EXISTS (SELECT FROM orders WHERE id = $5::uuid AND status = 1)

-- name: order_insert
INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::text, 1, $7::timestamptz)

-- A key's row of an ended sale is taken over in place; a living one stays, and 0 rows say so.
-- name: order_insert_keyed
INSERT INTO orders AS old (id, product_id, epoch, user_id, quantity, strategy, status, idempotency_key,
                           created_at)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::text, 1, $8::text, $7::timestamptz)
ON CONFLICT (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO UPDATE
SET id = excluded.id, product_id = excluded.product_id, epoch = excluded.epoch,
    quantity = excluded.quantity, strategy = excluded.strategy, status = excluded.status, reason = NULL,
    created_at = excluded.created_at
WHERE old.epoch <> (SELECT product.epoch FROM product WHERE product.id = old.product_id)

-- name: order_cancel
UPDATE orders SET status = 2 WHERE id = $1::uuid AND epoch = $2::bigint AND status = 1

-- name: restock_insert
INSERT INTO restock (id, product_id, epoch, quantity, strategy, idempotency_key, created_at)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::text, $7::text, $6::timestamptz)
ON CONFLICT (product_id, epoch, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING

-- Looking things up ------------------------------------------------------------------------------------------

-- name: order_read
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE orders.id = $1::uuid

-- name: order_by_key
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE user_id = $1::bigint AND idempotency_key = $2::text

-- name: restock_by_key
SELECT quantity FROM restock JOIN product ON product.id = product_id AND product.epoch = restock.epoch
WHERE product_id = $1::bigint AND idempotency_key = $2::text

-- name: orders_page
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE orders.id > $1::uuid ORDER BY orders.id LIMIT $2::bigint

-- name: orders_page_product
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE orders.id > $1::uuid AND orders.product_id = $3::bigint ORDER BY orders.id LIMIT $2::bigint

-- name: orders_page_user
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE orders.id > $1::uuid AND user_id = $3::bigint
  AND ($4::bigint IS NULL OR orders.product_id = $4::bigint)
ORDER BY orders.id LIMIT $2::bigint

-- Settling a COMMIT whose reply was lost ---------------------------------------------------------------------

-- Waits for a twin that is still running; then either finds it, or makes sure that it can never commit.
-- name: order_tombstone
INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, reason, created_at)
SELECT $1::uuid, $2::bigint, coalesce((SELECT epoch FROM product WHERE id = $2::bigint), 0), $3::bigint,
       $4::bigint, $5::text, 3, 'not_committed', $6::timestamptz
ON CONFLICT (id) DO NOTHING

-- name: order_status
SELECT status FROM orders WHERE id = $1::uuid

-- name: restock_tombstone
INSERT INTO restock (id, product_id, epoch, quantity, strategy, created_at)
SELECT $1::uuid, $2::bigint, coalesce((SELECT epoch FROM product WHERE id = $2::bigint), 0), 0, $3::text,
       $4::timestamptz
ON CONFLICT (id) DO NOTHING

-- name: restock_status
SELECT quantity FROM restock WHERE id = $1::uuid

-- Many orders, one transaction -------------------------------------------------------------------------------

-- A statement of its own: the next one's snapshot is younger than the lock.
-- name: batch_lock_fenced
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open
FROM product WHERE id = $1::bigint AND fence = $2::bigint FOR UPDATE

-- name: batch_units
SELECT user_id, units FROM purchase
WHERE product_id = $1::bigint AND epoch = $2::bigint AND user_id = ANY ($3::bigint[])

-- name: batch_keys
SELECT asked.position
FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (user_id, key, position)
JOIN orders ON orders.user_id = asked.user_id AND orders.idempotency_key = asked.key
JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch

-- name: batch_take_fenced
UPDATE product SET stock = stock - $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint AND fence = $4::bigint AND stock >= $3::bigint

-- name: batch_purchase_add
INSERT INTO purchase AS held (product_id, user_id, epoch, units)
SELECT $1::bigint, user_id, $2::bigint, units
FROM unnest($3::bigint[], $4::bigint[]) AS asked (user_id, units) WHERE units <= $5::bigint
ORDER BY user_id
ON CONFLICT (product_id, user_id) DO UPDATE
SET units = CASE WHEN held.epoch = excluded.epoch THEN held.units ELSE 0 END + excluded.units,
    epoch = excluded.epoch
WHERE CASE WHEN held.epoch = excluded.epoch THEN held.units ELSE 0 END + excluded.units <= $5::bigint

-- name: batch_insert
INSERT INTO orders AS old (id, product_id, epoch, user_id, quantity, strategy, status, idempotency_key,
                           created_at)
SELECT id, $1::bigint, $2::bigint, user_id, quantity, $3::text, 1, key, created_at
FROM unnest($4::uuid[], $5::bigint[], $6::bigint[], $7::text[], $8::timestamptz[])
         AS asked (id, user_id, quantity, key, created_at)
ON CONFLICT (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO UPDATE
SET id = excluded.id, product_id = excluded.product_id, epoch = excluded.epoch,
    quantity = excluded.quantity, strategy = excluded.strategy, status = excluded.status, reason = NULL,
    created_at = excluded.created_at
WHERE old.epoch <> (SELECT product.epoch FROM product WHERE product.id = old.product_id)

-- Products ---------------------------------------------------------------------------------------------------

-- name: product_get
SELECT id, name, initial_stock, stock, limit_per_user, opens_at, closes_at, epoch, version,
       (SELECT coalesce(sum(quantity), 0)::bigint FROM orders
        WHERE product_id = product.id AND orders.epoch = product.epoch AND status = 0)
FROM product WHERE id = $1::bigint

-- name: products_page
SELECT id, name, initial_stock, stock, limit_per_user, opens_at, closes_at, epoch, version, 0::bigint
FROM product WHERE id > $1::bigint ORDER BY id LIMIT $2::bigint

-- name: product_put
INSERT INTO product (id, name, initial_stock, stock, limit_per_user, opens_at, closes_at, epoch, version)
VALUES ($1::bigint, $2::text, $3::bigint, $3::bigint, $4::bigint, $5::timestamptz, $6::timestamptz, 1, 1)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, initial_stock = excluded.initial_stock, stock = excluded.stock,
    limit_per_user = excluded.limit_per_user, opens_at = excluded.opens_at,
    closes_at = excluded.closes_at, epoch = product.epoch + 1, version = product.version + 1
RETURNING epoch, version

-- name: products_put
INSERT INTO product (id, initial_stock, stock, epoch, version)
SELECT id, $3::bigint, $3::bigint, 1, 1
FROM generate_series($1::bigint, $1::bigint + $2::bigint - 1) AS id ORDER BY id
ON CONFLICT (id) DO UPDATE
SET name = NULL, initial_stock = excluded.initial_stock, stock = excluded.stock, limit_per_user = NULL,
    opens_at = NULL, closes_at = NULL, epoch = product.epoch + 1, version = product.version + 1

-- name: retire
INSERT INTO retired (product_id, epoch)
SELECT id, epoch - 1 FROM product
WHERE id BETWEEN $1::bigint AND $1::bigint + $2::bigint - 1 AND epoch > 1

-- name: audit
WITH sale AS (
    SELECT id, initial_stock, stock, epoch, limit_per_user FROM product WHERE id = $1::bigint
), sold AS (
    SELECT orders.* FROM orders JOIN sale ON orders.product_id = sale.id AND orders.epoch = sale.epoch
), added AS (
    SELECT restock.* FROM restock JOIN sale ON restock.product_id = sale.id AND restock.epoch = sale.epoch
    WHERE quantity > 0
)
SELECT sale.epoch, sale.initial_stock,
       coalesce((SELECT sum(quantity) FROM added), 0)::bigint AS restocked,
       sale.stock,
       coalesce((SELECT sum(quantity) FROM sold WHERE status = 1), 0)::bigint AS sold,
       coalesce((SELECT sum(n - 1) FROM (SELECT count(*) AS n FROM sold WHERE idempotency_key IS NOT NULL
                                         GROUP BY user_id, idempotency_key) AS k), 0)::bigint AS duplicates,
       coalesce((SELECT count(*) FROM (SELECT user_id FROM sold WHERE status IN (0, 1)
                                       GROUP BY user_id HAVING sum(quantity) > sale.limit_per_user) AS u),
                0)::bigint AS limit_violations,
       coalesce((SELECT sum(quantity) FROM sold WHERE status = 0), 0)::bigint AS queued,
       coalesce((SELECT string_agg(strategy, ',' ORDER BY strategy)
                 FROM (SELECT strategy FROM sold WHERE status <> 3 UNION SELECT strategy FROM added) AS s),
                '') AS strategies
FROM sale

-- The house ----------------------------------------------------------------------------------------------------

-- name: session_limits
SELECT set_config('statement_timeout', $1::text, false),
       set_config('idle_in_transaction_session_timeout', $2::text, false),
       set_config('client_connection_check_interval', '1s', false),
       set_config('default_transaction_isolation', 'read committed', false)

-- name: durability
SELECT current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on'
       AND current_setting('synchronous_commit') NOT IN ('off', 'local'),
       NOT pg_is_in_recovery()

-- name: retired_next
SELECT product_id, epoch FROM retired ORDER BY product_id, epoch LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: purge_orders
DELETE FROM orders WHERE id IN (
    SELECT id FROM orders WHERE product_id = $1::bigint AND epoch <= $2::bigint ORDER BY id
    LIMIT $3::bigint)

-- name: purge_restocks
DELETE FROM restock WHERE product_id = $1::bigint AND epoch <= $2::bigint

-- The epoch stands here twice: an order of the new sale may take the row over between the two.
-- name: purge_purchases
DELETE FROM purchase WHERE (product_id, user_id) IN (
    SELECT product_id, user_id FROM purchase
    WHERE product_id = $1::bigint AND epoch <= $2::bigint LIMIT $3::bigint)
AND epoch <= $2::bigint

-- name: retired_done
DELETE FROM retired WHERE product_id = $1::bigint AND epoch = $2::bigint
