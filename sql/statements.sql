-- Every statement of the server, by name. `-- name: x` makes SQL_X; parameters and results are binary.
--
-- A trigger, a rule or a view may keep a row from being written, and nothing says so but the number of rows. Where that
-- number is not looked at before the commit the statement does it: the CASE that ends in ::bigint cannot be converted,
-- which ends the transaction (PG_WITHHELD), and its text is the table's name.

-- name: begin
BEGIN

-- name: begin_serializable
BEGIN ISOLATION LEVEL SERIALIZABLE

-- name: begin_read_committed
BEGIN ISOLATION LEVEL READ COMMITTED

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- Reading the row that everything is about -----------------------------------------------------------------

-- name: product_read
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open,
       split, early, hold_s, clock_timestamp()
FROM product WHERE id = $1::bigint

-- name: product_lock
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open,
       split, early, hold_s, clock_timestamp()
FROM product WHERE id = $1::bigint FOR UPDATE

-- name: product_lock_nowait
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open,
       split, early, hold_s, clock_timestamp()
FROM product WHERE id = $1::bigint FOR UPDATE NOWAIT

-- Writing stock --------------------------------------------------------------------------------------------

-- The plain body's absolute figure: as safe as the lock around it.
-- name: stock_set
UPDATE product SET stock = $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint

-- name: stock_set_fenced
UPDATE product SET stock = $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint AND fence = $4::bigint

-- name: stock_set_if_version
UPDATE product SET stock = $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint AND version = $4::bigint

-- Decides and writes at once, so the epoch is the row's own and comes back for the order.
-- name: stock_take
UPDATE product SET stock = stock - $2::bigint, version = version + 1
WHERE id = $1::bigint AND stock >= $2::bigint
  AND (opens_at IS NULL OR opens_at <= clock_timestamp())
  AND (closes_at IS NULL OR clock_timestamp() < closes_at)
RETURNING stock, epoch, version, limit_per_user, true, split, early, hold_s, clock_timestamp()

-- Under the fence $3, 0 for none.
-- name: stock_add
UPDATE product SET stock = stock + $2::bigint, version = version + 1
WHERE id = $1::bigint AND ($3::bigint = 0 OR fence = $3::bigint)
RETURNING stock, epoch, version, limit_per_user, true, split, early, hold_s, clock_timestamp()

-- name: stock_return
UPDATE product SET stock = stock + $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint

-- name: stock_return_fenced
UPDATE product SET stock = stock + $3::bigint, version = version + 1
WHERE id = $1::bigint AND epoch = $2::bigint AND fence = $4::bigint

-- Committed at once after a lock was acquired and before anything is read under it: from here on the writes
-- of every earlier holder match no row (Kleppmann 2016, with the token registered at the read as well).
-- name: fence_register
UPDATE product SET fence = fence + 1 WHERE id = $1::bigint RETURNING fence, epoch

-- name: fence_read
SELECT fence FROM product WHERE id = $1::bigint

-- Under the product's row lock, taken by a statement of its own: one statement that waited for the row would not
-- see buckets made meanwhile.
-- name: stock_fold
WITH folded AS (
    DELETE FROM bucket WHERE product_id = $1::bigint AND epoch = $2::bigint RETURNING stock
), gathered AS (
    SELECT CASE WHEN count(*) <> (SELECT count(*) FROM bucket WHERE product_id = $1::bigint AND epoch = $2::bigint)
                THEN 'bucket' ELSE coalesce(sum(stock), 0)::text END::bigint AS units
    FROM folded
)
UPDATE product SET stock = stock + units, split = false, version = version + 1
FROM gathered WHERE id = $1::bigint AND epoch = $2::bigint
RETURNING stock

-- One order, one statement -----------------------------------------------------------------------------------

-- For a product without a limit or a hold and an order without a key or a hold, whose two halves cannot disagree. It commits by itself, and
-- may arrive when its client has closed long ago; so it names the epoch ($7) that was seen before it was sent. As long
-- as that sale lasts the order's tombstone is there; after it, this matches no row. The same holds for each statement
-- that commits an order by itself.
-- name: conditional_buy
WITH taken AS (
    UPDATE product SET stock = stock - $4::bigint, version = version + 1
    WHERE id = $2::bigint AND stock >= $4::bigint AND limit_per_user IS NULL AND epoch = $7::bigint
      AND coalesce(hold_s, 0) = 0
      AND (opens_at IS NULL OR opens_at <= clock_timestamp())
      AND (closes_at IS NULL OR clock_timestamp() < closes_at)
    RETURNING id, epoch
), written AS (
    INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at)
    SELECT $1::uuid, id, epoch, $3::bigint, $4::bigint, $5::text, 1, $6::timestamptz FROM taken
    RETURNING id
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM written) THEN 'orders' END::bigint FROM taken

-- The figure over the version that it came from, and the order with it; any of the two alone is nothing.
-- name: optimistic_buy
WITH taken AS (
    UPDATE product SET stock = $9::bigint, version = version + 1
    WHERE id = $2::bigint AND epoch = $7::bigint AND version = $8::bigint
    RETURNING id, epoch
), written AS (
    INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at)
    SELECT $1::uuid, id, epoch, $3::bigint, $4::bigint, $5::text, 1, $6::timestamptz FROM taken
    RETURNING id
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM written) THEN 'orders' END::bigint FROM taken

-- The rows of one order ----------------------------------------------------------------------------------

-- A row of an earlier epoch counts as nothing. Tells whether the limit allows that; if not, it is to be rolled back.
-- name: purchase_add
INSERT INTO purchase AS held (product_id, user_id, epoch, units)
VALUES ($1::bigint, $2::bigint, $3::bigint, $4::bigint)
ON CONFLICT (product_id, user_id) DO UPDATE
SET units = CASE WHEN held.epoch = excluded.epoch THEN held.units ELSE 0 END + excluded.units,
    epoch = excluded.epoch
RETURNING units <= $5::bigint

-- Before order_cancel, by the lock order. A second cancel of an order may come as far as here, where one has added to
-- the product's row and the other to a bucket: it finds too few units, or takes another order's, and is rolled back
-- because order_cancel matches no row.
-- name: purchase_return
WITH counted AS (
    SELECT FROM purchase
    WHERE product_id = $1::bigint AND user_id = $2::bigint AND epoch = $3::bigint AND units >= $4::bigint FOR UPDATE
), returned AS (
    UPDATE purchase SET units = units - $4::bigint FROM counted
    WHERE product_id = $1::bigint AND user_id = $2::bigint RETURNING 1
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM returned) THEN 'purchase' END::bigint FROM counted

-- The last of these three's is the end of the order's hold, by this database's clock; NULL: there is none.
-- name: order_insert
WITH written AS (
    INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at, hold_until, expire_at)
    VALUES ($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::text,
            CASE WHEN $8::timestamptz IS NULL THEN 1 ELSE 4 END, $7::timestamptz, $8::timestamptz, $8::timestamptz)
    RETURNING id
)
SELECT CASE WHEN count(*) = 0 THEN 'orders' END::bigint FROM written

-- stock_set or stock_set_fenced ($8: 0 for no fence) with the order. It matches no row when a PUT has started another
-- sale, or a later holder has registered its fence.
-- name: order_insert_sold
WITH taken AS (
    UPDATE product SET stock = $10::bigint, version = version + 1
    WHERE id = $2::bigint AND epoch = $3::bigint AND ($8::bigint = 0 OR fence = $8::bigint)
    RETURNING id, epoch
), written AS (
    INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at, hold_until, expire_at)
    SELECT $1::uuid, id, epoch, $4::bigint, $5::bigint, $6::text, CASE WHEN $9::timestamptz IS NULL THEN 1 ELSE 4 END,
           $7::timestamptz, $9::timestamptz, $9::timestamptz
    FROM taken
    RETURNING id
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM written) THEN 'orders' END::bigint FROM taken

-- A key's row of an ended sale is taken over in place; a living one stays, and 0 rows say so. One that has been written
-- since this statement began may be of a sale that its snapshot does not show: it stays, too.
-- name: order_insert_keyed
INSERT INTO orders AS old (id, product_id, epoch, user_id, quantity, strategy, status, idempotency_key,
                           created_at, hold_until, expire_at)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::text,
        CASE WHEN $9::timestamptz IS NULL THEN 1 ELSE 4 END, $8::text, $7::timestamptz, $9::timestamptz,
        $9::timestamptz)
ON CONFLICT (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO UPDATE
SET id = excluded.id, product_id = excluded.product_id, epoch = excluded.epoch,
    quantity = excluded.quantity, strategy = excluded.strategy, status = excluded.status, reason = NULL,
    created_at = excluded.created_at, published_at = NULL, hold_s = NULL, hold_until = excluded.hold_until,
    expire_at = excluded.expire_at, entered = excluded.entered
WHERE pg_visible_in_snapshot(old.entered, pg_current_snapshot())
  AND old.epoch IS DISTINCT FROM (SELECT product.epoch FROM product WHERE product.id = old.product_id)

-- It names the status ($3) that was read before its transaction began: what became of the order while this waited for
-- the product's row has a higher number, and would come behind it in the feed. Whether somebody was faster, or the row
-- was withheld, who called it looks.
-- name: order_cancel
WITH changed AS (
    UPDATE orders SET status = 2 WHERE id = $1::uuid AND epoch = $2::bigint AND status = $3::bigint
    RETURNING id, product_id, epoch, status
), told AS (
    INSERT INTO order_change (id, product_id, epoch, status) SELECT * FROM changed RETURNING id
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM told) THEN 'order_change' END::bigint FROM changed

-- In order_cancel's place where the hold of an order that nobody has paid is over. This and order_pay are the only two
-- that may end a hold by the time: of two that meet, the second sees what the first has left. The time alone says
-- whether the row matches, so the row is locked by what it says, and then must be written.
-- name: order_expire
WITH due AS MATERIALIZED (
    SELECT id AS due_id FROM orders
    WHERE id = $1::uuid AND epoch = $2::bigint AND status = 4 AND hold_until <= clock_timestamp()
    FOR UPDATE
), changed AS (
    UPDATE orders SET status = 5 FROM due WHERE id = due_id RETURNING id, product_id, epoch, status
), told AS (
    INSERT INTO order_change (id, product_id, epoch, status) SELECT * FROM changed RETURNING id
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM changed) THEN 'orders'
            WHEN NOT EXISTS (SELECT FROM told) THEN 'order_change' END::bigint
FROM due

-- name: order_pay
WITH due AS MATERIALIZED (
    SELECT orders.id AS due_id FROM orders
    JOIN product ON product.id = product_id AND product.epoch = orders.epoch
    WHERE orders.id = $1::uuid AND status = 4 AND hold_until > clock_timestamp()
    FOR UPDATE OF orders
), changed AS (
    UPDATE orders SET status = 1 FROM due WHERE id = due_id RETURNING id, product_id, epoch, status
), told AS (
    INSERT INTO order_change (id, product_id, epoch, status) SELECT * FROM changed RETURNING id
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM changed) THEN 'orders'
            WHEN NOT EXISTS (SELECT FROM told) THEN 'order_change' END::bigint
FROM due

-- Takes on some of the holds that are over, of these strategies ($2) and not of these products ($3), for $4 ms; whoever dies
-- meanwhile leaves them to the next one. It waits for nobody. The statement's own time, which does not change within it,
-- so that the index ends the search. A row that was withheld is NULL, and keeps no other from being taken on.
-- name: hold_sweep
WITH due AS MATERIALIZED (
    SELECT orders.id FROM orders
    JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
    WHERE status = 4 AND expire_at <= statement_timestamp() AND strategy = ANY ($2::text[])
      AND product_id <> ALL ($3::bigint[])
    ORDER BY expire_at LIMIT $1::bigint FOR UPDATE OF orders SKIP LOCKED
), taken AS (
    UPDATE orders SET expire_at = clock_timestamp() + $4::bigint * interval '1 millisecond' FROM due
    WHERE orders.id = due.id AND status = 4
    RETURNING orders.id, product_id, user_id, quantity, strategy, created_at
)
SELECT taken.* FROM due LEFT JOIN taken ON taken.id = due.id

-- name: restock_insert
INSERT INTO restock (id, product_id, epoch, quantity, strategy, idempotency_key, created_at)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::text, $7::text, $6::timestamptz)
ON CONFLICT (product_id, epoch, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING

-- Looking things up ------------------------------------------------------------------------------------------

-- name: order_read
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch, early,
       hold_until
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE orders.id = $1::uuid

-- name: order_by_key
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch, early,
       hold_until
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE user_id = $1::bigint AND idempotency_key = $2::text

-- name: restock_by_key
SELECT quantity FROM restock JOIN product ON product.id = product_id AND product.epoch = restock.epoch
WHERE product_id = $1::bigint AND idempotency_key = $2::text

-- A page begins behind the order $1, in the order in which rows were written; at the beginning where that is no order,
-- or is none any more. The last column: nothing can commit any more that stands before this row.
-- name: orders_page
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch, early,
       hold_until, entered < pg_snapshot_xmin(pg_current_snapshot())
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE (entered, orders.id) > (coalesce((SELECT entered FROM orders WHERE id = $1::uuid), '0'::xid8), $1::uuid)
  AND ($3::bigint IS NULL OR status = $3::bigint)
ORDER BY entered, orders.id LIMIT $2::bigint

-- name: orders_page_product
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch, early,
       hold_until, entered < pg_snapshot_xmin(pg_current_snapshot())
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE (entered, orders.id) > (coalesce((SELECT entered FROM orders WHERE id = $1::uuid), '0'::xid8), $1::uuid)
  AND ($3::bigint IS NULL OR status = $3::bigint)
  AND orders.product_id = $4::bigint
ORDER BY entered, orders.id LIMIT $2::bigint

-- name: orders_page_user
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch, early,
       hold_until, entered < pg_snapshot_xmin(pg_current_snapshot())
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE (entered, orders.id) > (coalesce((SELECT entered FROM orders WHERE id = $1::uuid), '0'::xid8), $1::uuid)
  AND ($3::bigint IS NULL OR status = $3::bigint)
  AND user_id = $4::bigint AND ($5::bigint IS NULL OR orders.product_id = $5::bigint)
ORDER BY entered, orders.id LIMIT $2::bigint

-- The orders' rows as they were written, and what they became, behind a position: the transaction, the order and the
-- status. Only a queued row has been published, only one that was pending has a hold, and of the others only a confirmed one is
-- cancelled. What bears one number is told in the order in which an order may become it: 0, 4, 1, 5, 2, 3. Each half
-- begins at its position and looks up what stands behind a row: OFFSET 0 keeps the planner from beginning with a whole
-- table, as it would, since it takes a product and its epoch for independent of each other.
-- name: feed_page
SELECT id, product_id, user_id, quantity, strategy, became, CASE WHEN became = 3 THEN reason END, created_at, epoch, early,
       hold_until, entered::text::bigint
FROM ((SELECT orders.id, orders.product_id, user_id, quantity, strategy, became, reason, created_at, orders.epoch,
              early, hold_until, entered
       FROM orders,
            LATERAL (SELECT early FROM product WHERE product.id = orders.product_id AND product.epoch = orders.epoch
                     OFFSET 0) AS sale,
            LATERAL (SELECT CASE WHEN published_at IS NOT NULL THEN 0::smallint WHEN hold_until IS NOT NULL THEN 4::smallint
                            WHEN status = 2 THEN 1::smallint ELSE status END AS became) AS first
       WHERE (entered, orders.id, became % 4, became) > ($1::bigint::text::xid8, $2::uuid, $3::bigint % 4, $3::bigint)
         AND entered < pg_snapshot_xmin(pg_current_snapshot())
       ORDER BY entered, orders.id, became % 4, became LIMIT $4::bigint)
      UNION ALL
      (SELECT change.id, change.product_id, user_id, quantity, strategy, change.status, reason, created_at, change.epoch,
              early, hold_until, change.entered
       FROM order_change AS change,
            LATERAL (SELECT early FROM product WHERE product.id = change.product_id AND product.epoch = change.epoch
                     OFFSET 0) AS sale,
            LATERAL (SELECT user_id, quantity, strategy, reason, created_at, hold_until FROM orders
                     WHERE orders.id = change.id OFFSET 0) AS sold
       WHERE (change.entered, change.id, change.status % 4, change.status)
             > ($1::bigint::text::xid8, $2::uuid, $3::bigint % 4, $3::bigint)
         AND change.entered < pg_snapshot_xmin(pg_current_snapshot())
       ORDER BY change.entered, change.id, change.status % 4, change.status LIMIT $4::bigint)) AS event
ORDER BY entered, id, became % 4, became LIMIT $4::bigint

-- What the numbers of transactions hang on. A database that was restored, or taken over from a primary that has failed,
-- counts them otherwise, and another one begins anew.
-- name: feed_origin
SELECT hashtextextended(concat_ws(' ', system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                                  pg_typeof(NULL::orders)::oid), 0)
FROM pg_control_system()

-- Early lock release -----------------------------------------------------------------------------------------

-- Committed, and flushed, before the first commit of these sales' orders that is not: from here on whoever reads their
-- rows knows that what they say may yet be undone. In id order, as everywhere. Tells the epochs, of which alone it holds.
-- name: mark_early
WITH asked AS (
    SELECT id, epoch, early FROM product WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE
), marked AS (
    UPDATE product SET early_epoch = asked.epoch FROM asked WHERE product.id = asked.id AND NOT asked.early
    RETURNING product.id
)
SELECT id, epoch, CASE WHEN NOT early AND NOT EXISTS (SELECT FROM marked WHERE marked.id = asked.id)
                       THEN 'product' END::bigint
FROM asked

-- mark_early, but it passes by rows that somebody else holds.
-- name: mark_early_free
WITH asked AS (
    SELECT id, epoch, early FROM product WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED
), marked AS (
    UPDATE product SET early_epoch = asked.epoch FROM asked WHERE product.id = asked.id AND NOT asked.early
    RETURNING product.id
)
SELECT id, epoch, CASE WHEN NOT early AND NOT EXISTS (SELECT FROM marked WHERE marked.id = asked.id)
                       THEN 'product' END::bigint
FROM asked

-- Whether everything that could be read before is flushed here.
-- name: log_flushed
SELECT CASE WHEN pg_is_in_recovery() THEN false
            ELSE pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() END

-- name: in_recovery
SELECT pg_is_in_recovery()

-- Settling a COMMIT whose reply was lost ---------------------------------------------------------------------

-- Makes the commit of this statement, or of its transaction, wait until the log is flushed up to here, on the synchronous
-- standby too where there is one: everything that was read before is as durable as a commit of ours then. A commit
-- that wrote nothing waits for nothing.
-- Where in the log, is the answer.
-- name: flush_read
SELECT pg_logical_emit_message(true, 'seckill', '')::text

-- The same of the probe's, which is told apart in pg_stat_activity.
-- name: flush_probe
SELECT pg_logical_emit_message(true, 'seckill', 'probe')::text

-- How many of the standbys that synchronous_standby_names has by name ('*' is none) have flushed the log up to $1, and
-- whether this role may see it.
-- name: standbys_flushed
SELECT count(*) FILTER (WHERE flush_lsn >= $1::text::pg_lsn), pg_has_role('pg_read_all_stats', 'USAGE')
FROM pg_stat_replication
WHERE EXISTS (SELECT FROM regexp_matches(current_setting('synchronous_standby_names'),
                                         '"((?:[^"]|"")+)"|([^\s,()"]+)', 'g') AS name
              WHERE lower(coalesce(replace(name[1], '""', '"'), name[2])) = lower(application_name))

-- Waits for a twin that is still running; then either finds it, or makes sure that it can never commit. When it finds
-- one it writes no row, so the message sees to it that the twin's commit is waited for as our own would be.
-- name: order_tombstone
WITH tombstone AS (
    INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, reason, created_at)
    SELECT $1::uuid, $2::bigint, coalesce((SELECT epoch FROM product WHERE id = $2::bigint), 0), $3::bigint,
           $4::bigint, $5::text, 3, 'not_committed', $6::timestamptz
    ON CONFLICT (id) DO NOTHING
)
SELECT pg_logical_emit_message(true, 'seckill', '') IS NOT NULL

-- name: order_status
SELECT status, hold_until FROM orders WHERE id = $1::uuid

-- name: restock_tombstone
WITH tombstone AS (
    INSERT INTO restock (id, product_id, epoch, quantity, strategy, created_at)
    SELECT $1::uuid, $2::bigint, coalesce((SELECT epoch FROM product WHERE id = $2::bigint), 0), 0, $3::text,
           $4::timestamptz
    ON CONFLICT (id) DO NOTHING
)
SELECT pg_logical_emit_message(true, 'seckill', '') IS NOT NULL

-- name: restock_status
SELECT quantity FROM restock WHERE id = $1::uuid

-- order_read, behind whatever transaction has changed the order's row: a cancel that may yet commit. Its lock is a
-- write, so its own commit waits for the log up to that one.
-- name: order_read_settled
SELECT orders.id, orders.product_id, user_id, quantity, strategy, status, reason, created_at, orders.epoch, early,
       hold_until
FROM orders JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
WHERE orders.id = $1::uuid
FOR SHARE OF orders

-- Locks in the database --------------------------------------------------------------------------------------

-- Two numbers, so apart from the schema's lock, which is one: PostgreSQL keeps the two kinds apart. The first is
-- ours ("seck" in ASCII); the second a hash, because it has 32 bits and an id 53: products that share it wait for
-- each other, no more.
-- name: advisory_lock
SELECT pg_advisory_xact_lock(1936024427, hashint8($1::bigint))

-- name: advisory_lock_try
SELECT pg_try_advisory_xact_lock(1936024427, hashint8($1::bigint))

-- Two statements, because a poll that finds the lock taken must write nothing: an upsert would lock the row, and
-- so flush the log, each time.
-- name: lock_row_insert
INSERT INTO product_lock (product_id, owner, lease_until)
VALUES ($1::bigint, $2::text, clock_timestamp() + $3::bigint * interval '1 millisecond')
ON CONFLICT DO NOTHING

-- name: lock_row_take_over
UPDATE product_lock
SET owner = $2::text, lease_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE product_id = $1::bigint AND lease_until <= clock_timestamp()

-- name: lock_row_delete
DELETE FROM product_lock WHERE product_id = $1::bigint AND owner = $2::text

-- Seed 003's "lock", for the control that shows it: one row is affected whoever holds it.
-- name: control_lock_upsert
INSERT INTO product_lock (product_id, owner, lease_until)
VALUES ($1::bigint, $2::text, clock_timestamp() + $3::bigint * interval '1 millisecond')
ON CONFLICT (product_id) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until

-- A product's stock in buckets -------------------------------------------------------------------------------

-- conditional_buy, of one bucket. The product's row is read, not locked: what is read of it changes by a PUT
-- or a PATCH alone, and these delete the bucket.
-- name: bucket_buy
WITH taken AS (
    UPDATE bucket SET stock = bucket.stock - $4::bigint
    FROM product
    WHERE bucket.product_id = $2::bigint AND bucket.n = $8::bigint AND bucket.stock >= $4::bigint
      AND product.id = $2::bigint AND product.epoch = bucket.epoch AND product.limit_per_user IS NULL
      AND coalesce(product.hold_s, 0) = 0
      AND bucket.epoch = $7::bigint
      AND (opens_at IS NULL OR opens_at <= clock_timestamp())
      AND (closes_at IS NULL OR clock_timestamp() < closes_at)
    RETURNING bucket.product_id, bucket.epoch
), written AS (
    INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at)
    SELECT $1::uuid, product_id, epoch, $3::bigint, $4::bigint, $5::text, 1, $6::timestamptz FROM taken
    RETURNING id
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM written) THEN 'orders' END::bigint FROM taken

-- name: bucket_take
UPDATE bucket SET stock = bucket.stock - $2::bigint
FROM product
WHERE bucket.product_id = $1::bigint AND bucket.n = $3::bigint AND bucket.stock >= $2::bigint
  AND product.id = $1::bigint AND product.epoch = bucket.epoch
  AND (opens_at IS NULL OR opens_at <= clock_timestamp())
  AND (closes_at IS NULL OR clock_timestamp() < closes_at)
RETURNING bucket.stock, bucket.epoch, version, limit_per_user, true, split, early, hold_s, clock_timestamp()

-- Two cancels of one order must meet on one row, whatever each instance's --buckets is; so the rows say how many.
-- name: bucket_return
UPDATE bucket SET stock = stock + $3::bigint
WHERE product_id = $1::bigint AND epoch = $2::bigint
  AND n = $4::bigint % nullif((SELECT count(*) FROM bucket
                               WHERE product_id = $1::bigint AND epoch = $2::bigint), 0)

-- The product with its buckets, and the first of these, from $3 on, that has enough.
-- name: bucket_look
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open,
       split, early, hold_s, clock_timestamp(),
       coalesce((SELECT sum(stock) FROM bucket
                 WHERE product_id = product.id AND epoch = product.epoch), 0)::bigint AS units,
       (SELECT n FROM bucket
        WHERE product_id = product.id AND epoch = product.epoch AND bucket.stock >= $2::bigint
        ORDER BY n < $3::bigint, n LIMIT 1) AS next
FROM product WHERE id = $1::bigint

-- name: bucket_lock_all
SELECT coalesce(sum(stock), 0)::bigint
FROM (SELECT stock FROM bucket WHERE product_id = $1::bigint AND epoch = $2::bigint ORDER BY n FOR UPDATE)
         AS locked

-- With the product's row and all its buckets locked: $3 units over $4 buckets, none in the row.
-- name: bucket_spread
WITH emptied AS (
    UPDATE product SET stock = 0, split = true, version = version + 1
    WHERE id = $1::bigint AND epoch = $2::bigint
    RETURNING id
), surplus AS (
    DELETE FROM bucket WHERE product_id = $1::bigint AND n >= $4::bigint RETURNING n
), spread AS (
    INSERT INTO bucket (product_id, n, epoch, stock)
    SELECT $1::bigint, n, $2::bigint, $3::bigint / $4::bigint + (n < $3::bigint % $4::bigint)::int
    FROM generate_series(0, $4::bigint - 1) AS n
    ON CONFLICT (product_id, n) DO UPDATE SET stock = excluded.stock, epoch = excluded.epoch
    RETURNING n
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM emptied) THEN 'product'
            WHEN (SELECT count(*) FROM spread) <> $4::bigint
                 OR (SELECT count(*) FROM surplus) <> (SELECT count(*) FROM bucket
                                                       WHERE product_id = $1::bigint AND n >= $4::bigint)
            THEN 'bucket' END::bigint

-- In a transaction: no statement of it waits longer for a lock.
-- name: lock_within
SELECT set_config('lock_timeout', $1::text, true)

-- Many orders, one transaction -------------------------------------------------------------------------------

-- A statement of its own: the next one's snapshot is younger than the locks. In id order, so that two of these
-- cannot wait for each other. $2 is the fence, 0 for none.
-- name: batch_lock
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open,
       split, early, hold_s, clock_timestamp(), id
FROM product WHERE id = ANY ($1::bigint[]) AND ($2::bigint = 0 OR fence = $2::bigint)
ORDER BY id FOR UPDATE

-- batch_lock without the lock, of which the log would tell.
-- name: batch_look
SELECT stock, epoch, version, limit_per_user,
       (opens_at IS NULL OR opens_at <= clock_timestamp())
           AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open,
       split, early, hold_s, clock_timestamp(), id
FROM product WHERE id = ANY ($1::bigint[])

-- batch_lock, but it passes by rows that somebody else holds: `busy` says so of them.
-- name: batch_lock_free
WITH free AS (
    SELECT stock, epoch, version, limit_per_user,
           (opens_at IS NULL OR opens_at <= clock_timestamp())
               AND (closes_at IS NULL OR clock_timestamp() < closes_at) AS open,
           split, early, hold_s, id
    FROM product WHERE id = ANY ($1::bigint[])
    ORDER BY id FOR UPDATE SKIP LOCKED
)
SELECT free.stock, free.epoch, free.version, free.limit_per_user, coalesce(free.open, false),
       coalesce(free.split, false), coalesce(free.early, product.early), free.hold_s, clock_timestamp(), product.id,
       free.id IS NULL AS busy
FROM product LEFT JOIN free ON free.id = product.id WHERE product.id = ANY ($1::bigint[])

-- One of them that nobody holds at this moment.
-- name: batch_find_free
SELECT id FROM product WHERE id = ANY ($1::bigint[]) LIMIT 1 FOR UPDATE SKIP LOCKED

-- conditional_buy, for many orders of one product, which come to $3 units: all of them, or none. It waits for nobody:
-- a locked row is as good as none. $4 is the fence, 0 for none, and $5 the sale's epoch. The arrays are of one length;
-- in the list rather than in FROM, which would store each of them once more.
-- name: batch_buy
WITH sale AS (
    SELECT id, epoch FROM product
    WHERE id = $2::bigint AND stock >= $3::bigint AND limit_per_user IS NULL AND coalesce(hold_s, 0) = 0
      AND (opens_at IS NULL OR opens_at <= clock_timestamp())
      AND (closes_at IS NULL OR clock_timestamp() < closes_at)
      AND ($4::bigint = 0 OR fence = $4::bigint) AND epoch = $5::bigint
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE product SET stock = stock - $3::bigint, version = version + 1 FROM sale WHERE product.id = sale.id
    RETURNING product.id, product.epoch
), written AS (
    INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at)
    SELECT unnest($6::uuid[]), id, epoch, unnest($7::bigint[]), unnest($8::bigint[]), $1::text, 1,
           unnest($9::timestamptz[])
    FROM taken
    RETURNING id
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM taken) THEN 'product'
            WHEN (SELECT count(*) FROM written) <> cardinality($6::uuid[]) THEN 'orders' END::bigint
FROM sale

-- name: batch_units
SELECT asked.position, units
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
         AS asked (product_id, epoch, user_id, position)
JOIN purchase USING (product_id, epoch, user_id)

-- name: batch_keys
SELECT asked.position, orders.id
FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (user_id, key, position)
JOIN orders ON orders.user_id = asked.user_id AND orders.idempotency_key = asked.key
JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch

-- name: batch_purchase_add
INSERT INTO purchase AS held (product_id, user_id, epoch, units)
SELECT product_id, user_id, asked.epoch, units
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
         AS asked (product_id, epoch, user_id, units)
ORDER BY product_id, user_id
ON CONFLICT (product_id, user_id) DO UPDATE
SET units = CASE WHEN held.epoch = excluded.epoch THEN held.units ELSE 0 END + excluded.units,
    epoch = excluded.epoch
RETURNING units <= (SELECT limit_per_user FROM product WHERE product.id = product_id)

-- Nobody else can have these ids, and there is no key: nothing to conflict with, and cheaper for it.
-- name: sold_insert
WITH written AS (
    INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at)
    SELECT id, product_id, epoch, user_id, quantity, $1::text, 1, created_at
    FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::timestamptz[])
             AS asked (id, product_id, epoch, user_id, quantity, created_at)
    RETURNING id
)
SELECT CASE WHEN count(*) <> cardinality($2::uuid[]) THEN 'orders' END::bigint FROM written

-- Sorted, so that two batches with the same keys, of different products, take their rows in one order. A hold that ends at
-- the beginning of all time is none.
-- name: batch_insert
INSERT INTO orders AS old (id, product_id, epoch, user_id, quantity, strategy, status, reason,
                           idempotency_key, created_at, hold_until, expire_at)
SELECT id, product_id, epoch, user_id, quantity, $1::text, status, reason, key, created_at, nullif(hold, 'epoch'),
       nullif(hold, 'epoch')
FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::text[],
            $9::bigint[], $10::text[], $11::timestamptz[])
         AS asked (id, product_id, epoch, user_id, quantity, created_at, key, status, reason, hold)
ORDER BY user_id, key
ON CONFLICT (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO UPDATE
SET id = excluded.id, product_id = excluded.product_id, epoch = excluded.epoch,
    quantity = excluded.quantity, strategy = excluded.strategy, status = excluded.status, reason = NULL,
    created_at = excluded.created_at, published_at = NULL, hold_s = NULL, hold_until = excluded.hold_until,
    expire_at = excluded.expire_at, entered = excluded.entered
WHERE pg_visible_in_snapshot(old.entered, pg_current_snapshot())
  AND old.epoch IS DISTINCT FROM (SELECT product.epoch FROM product WHERE product.id = old.product_id)

-- The rows are locked and were read under the lock: one that does not fit is a bug of ours, and the CHECK says so.
-- So the COMMIT can travel with it.
-- name: batch_take
WITH taken AS (
    UPDATE product
    SET stock = CASE WHEN epoch = sale AND stock >= units AND ($4::bigint = 0 OR fence = $4::bigint)
                     THEN stock - units ELSE -1 END,
        version = version + 1
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS asked (product_id, sale, units)
    WHERE id = product_id
    RETURNING id
)
SELECT CASE WHEN count(*) <> cardinality($1::bigint[]) THEN 'product' END::bigint FROM taken

-- Orders that wait at the broker ------------------------------------------------------------------------------

-- One row at least where the product is in the sale that was seen ($8): its epoch, and the ids that were written. A living key's order is
-- not; a dead one's row is taken over. While an order is queued, expire_at says since when: by this clock, which
-- created_at is not. Sorted, or instances with the same keys in another order end in deadlocks.
-- name: queue_insert
WITH sale AS (
    SELECT id, epoch FROM product WHERE id = $1::bigint AND epoch = $8::bigint
), written AS (
    INSERT INTO orders AS old (id, product_id, epoch, user_id, quantity, strategy, status, idempotency_key,
                               created_at, published_at, expire_at, hold_s)
    SELECT asked.id, sale.id, sale.epoch, user_id, quantity, $2::text, 0, key, created_at, statement_timestamp(),
           statement_timestamp(), nullif(asked.hold_s, -1)
    FROM unnest($3::uuid[], $4::bigint[], $5::bigint[], $6::text[], $7::timestamptz[], $9::bigint[])
             AS asked (id, user_id, quantity, key, created_at, hold_s), sale
    ORDER BY user_id, key
    ON CONFLICT (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO UPDATE
    SET id = excluded.id, product_id = excluded.product_id, epoch = excluded.epoch,
        quantity = excluded.quantity, strategy = excluded.strategy, status = excluded.status, reason = NULL,
        created_at = excluded.created_at, published_at = excluded.published_at, hold_s = excluded.hold_s,
        hold_until = NULL, expire_at = excluded.expire_at, entered = excluded.entered
    WHERE pg_visible_in_snapshot(old.entered, pg_current_snapshot())
      AND old.epoch IS DISTINCT FROM (SELECT product.epoch FROM product WHERE product.id = old.product_id)
    RETURNING id
)
SELECT sale.epoch, written.id FROM sale LEFT JOIN written ON true

-- name: queue_rows
SELECT asked.position, orders.epoch, user_id, quantity, status, reason, created_at, hold_s, hold_until
FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, position) JOIN orders ON orders.id = asked.id

-- name: queue_confirm
WITH changed AS (
    UPDATE orders SET status = CASE WHEN hold = 'epoch' THEN 1 ELSE 4 END, hold_until = nullif(hold, 'epoch'),
                      expire_at = nullif(hold, 'epoch')
    FROM unnest($1::uuid[], $2::timestamptz[]) AS asked (id, hold) WHERE orders.id = asked.id AND status = 0
    RETURNING orders.id, product_id, epoch, status
)
INSERT INTO order_change (id, product_id, epoch, status) SELECT * FROM changed

-- A refusal is not remembered: the key is free for the next attempt.
-- name: queue_fail
WITH changed AS (
    UPDATE orders SET status = 3, reason = asked.reason, idempotency_key = NULL
    FROM unnest($1::uuid[], $2::text[]) AS asked (id, reason) WHERE orders.id = asked.id AND status = 0
    RETURNING orders.id, product_id, epoch, status
)
INSERT INTO order_change (id, product_id, epoch, status) SELECT * FROM changed

-- name: queue_restock_insert
INSERT INTO restock (id, product_id, epoch, quantity, strategy, idempotency_key, created_at)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::text, $7::text, $6::timestamptz)
ON CONFLICT DO NOTHING

-- What has waited for three seconds since it was sent; and for as long again after each time, so that a long
-- backlog is not sent over and over. A row that was withheld is NULL, as in hold_sweep.
-- name: queue_sweep
WITH late AS MATERIALIZED (
    SELECT orders.id FROM orders
    JOIN product ON product.id = orders.product_id AND product.epoch = orders.epoch
    WHERE status = 0 AND strategy = $1::text
      AND published_at < clock_timestamp() - greatest(interval '3 s', published_at - coalesce(expire_at, published_at))
    ORDER BY published_at LIMIT $2::bigint FOR UPDATE OF orders SKIP LOCKED
), taken AS (
    UPDATE orders SET published_at = clock_timestamp() FROM late WHERE orders.id = late.id
    RETURNING orders.id, product_id
)
SELECT taken.* FROM late LEFT JOIN taken ON taken.id = late.id

-- Those that came in while a PUT ended their sale: no purge knows of them. It waits for no row, as the purge.
-- name: queue_bury
WITH ended AS MATERIALIZED (
    SELECT orders.id FROM orders
    JOIN product ON product.id = orders.product_id AND product.epoch <> orders.epoch
    WHERE status = 0 AND published_at < clock_timestamp() - interval '3 s'
    FOR UPDATE OF orders SKIP LOCKED)
DELETE FROM orders USING ended WHERE orders.id = ended.id

-- redis-stock: its mirror and its writer ---------------------------------------------------------------------

-- Whoever loads a mirror holds the row meanwhile, so that no commit comes between the figure and its loading. The row's
-- lock is taken by a statement of its own, or buckets made while it waited would not be seen.
-- name: stock_row
SELECT stock + coalesce((SELECT sum(bucket.stock) FROM bucket
                         WHERE bucket.product_id = product.id AND bucket.epoch = product.epoch), 0)::bigint,
       epoch, limit_per_user, opens_at, closes_at, clock_timestamp(), early
FROM product WHERE id = $1::bigint

-- name: stock_terms
SELECT epoch, limit_per_user, opens_at, closes_at,
       EXISTS (SELECT FROM restock WHERE product_id = product.id AND restock.epoch = product.epoch
               AND idempotency_key = ' ')
FROM product WHERE id = $1::bigint

-- Before the first order of a sale that may wait outside of this database: a tombstone, under a key that no client can
-- send, for servers that cannot look there; and one of no product, so that whoever never had any need not look further.
-- name: stock_mark
INSERT INTO restock (id, product_id, epoch, quantity, strategy, idempotency_key, created_at)
SELECT gen_random_uuid(), mark.product_id, mark.epoch, 0, $3::text, ' ', clock_timestamp()
FROM (VALUES (0::bigint, 0::bigint), ($1::bigint, $2::bigint)) AS mark (product_id, epoch)
ON CONFLICT (product_id, epoch, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING

-- name: elsewhere
SELECT EXISTS (SELECT FROM restock WHERE product_id = 0 AND epoch = 0 AND idempotency_key = ' ')
   AND EXISTS (SELECT FROM restock JOIN product ON product.id = product_id AND product.epoch = restock.epoch
               WHERE idempotency_key = ' ')

-- name: stock_holders
SELECT user_id, units FROM purchase
WHERE product_id = $1::bigint AND epoch = $2::bigint AND user_id > $3::bigint AND units > 0
ORDER BY user_id LIMIT $4::bigint

-- name: stock_decided
SELECT id, status, reason, hold_until FROM orders WHERE id = ANY ($1::uuid[])

-- Products ---------------------------------------------------------------------------------------------------

-- name: product_get
SELECT id, name, initial_stock,
       stock + coalesce((SELECT sum(stock) FROM bucket
                         WHERE product_id = product.id AND epoch = product.epoch), 0)::bigint,
       limit_per_user, opens_at, closes_at, epoch, version,
       (SELECT coalesce(sum(quantity), 0)::bigint FROM orders
        WHERE product_id = product.id AND orders.epoch = product.epoch AND status = 0), hold_s,
       EXISTS (SELECT FROM restock WHERE product_id = product.id AND restock.epoch = product.epoch
               AND idempotency_key = ' ')
FROM product WHERE id = $1::bigint

-- What is queued is added up once, for all products; the page comes first, or it would be joined to the whole table.
-- name: products_page
WITH queued AS MATERIALIZED (
    SELECT product_id, epoch, sum(quantity)::bigint AS units FROM orders WHERE status = 0 GROUP BY product_id, epoch
), page AS MATERIALIZED (
    SELECT * FROM product WHERE id > $1::bigint ORDER BY id LIMIT $2::bigint
)
SELECT id, name, initial_stock,
       stock + coalesce((SELECT sum(stock) FROM bucket
                         WHERE product_id = page.id AND epoch = page.epoch), 0)::bigint,
       limit_per_user, opens_at, closes_at, page.epoch, version, coalesce(units, 0), hold_s,
       EXISTS (SELECT FROM restock WHERE product_id = page.id AND restock.epoch = page.epoch AND idempotency_key = ' ')
FROM page LEFT JOIN queued ON queued.product_id = page.id AND queued.epoch = page.epoch ORDER BY id

-- Nothing where it has to follow another sale than the one that is there ($7).
-- name: product_put
INSERT INTO product (id, name, initial_stock, stock, limit_per_user, opens_at, closes_at, epoch, version, hold_s)
SELECT $1::bigint, $2::text, $3::bigint, $3::bigint, $4::bigint, $5::timestamptz, $6::timestamptz,
       (SELECT base + 1 FROM epoch_base), 1, $8::bigint
WHERE $7::bigint IS NULL OR EXISTS (SELECT FROM product WHERE id = $1::bigint)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, initial_stock = excluded.initial_stock, stock = excluded.stock,
    limit_per_user = excluded.limit_per_user, opens_at = excluded.opens_at,
    closes_at = excluded.closes_at, epoch = product.epoch + 1, version = product.version + 1,
    split = false, hold_s = excluded.hold_s
WHERE $7::bigint IS NULL OR product.epoch = $7::bigint
RETURNING epoch, version

-- What of name, limit, window and hold is given ($2, $4, $6, $8, $10: 1) is set, the rest stays. The version grows, so that
-- whoever has decided by the old row does not write by it; buckets, which are sold from without it, are folded behind
-- this. Answers 0 when it would close before it opens, 2 when it would limit a sale in which nobody has counted.
-- name: product_patch
WITH old AS (
    SELECT id AS old_id, limit_per_user AS old_limit, epoch, split FROM product WHERE id = $1::bigint FOR UPDATE
), patched AS (
    UPDATE product
    SET name = CASE WHEN $2::bigint = 1 THEN $3::text ELSE name END,
        limit_per_user = CASE WHEN $4::bigint = 1 THEN $5::bigint ELSE limit_per_user END,
        opens_at = CASE WHEN $6::bigint = 1 THEN $7::timestamptz ELSE opens_at END,
        closes_at = CASE WHEN $8::bigint = 1 THEN $9::timestamptz ELSE closes_at END,
        hold_s = CASE WHEN $10::bigint = 1 THEN $11::bigint ELSE hold_s END,
        version = version + 1
    FROM old WHERE id = old_id
    RETURNING CASE WHEN opens_at >= closes_at THEN 0
                   WHEN limit_per_user IS NOT NULL AND old_limit IS NULL THEN 2 ELSE 1 END AS verdict
)
SELECT coalesce((SELECT verdict::text FROM patched), 'product')::bigint, epoch, split FROM old

-- name: products_put
INSERT INTO product (id, initial_stock, stock, epoch, version)
SELECT id, $3::bigint, $3::bigint, (SELECT base + 1 FROM epoch_base), 1
FROM generate_series($1::bigint, $1::bigint + ($2::bigint - 1)) AS id ORDER BY id
ON CONFLICT (id) DO UPDATE
SET name = NULL, initial_stock = excluded.initial_stock, stock = excluded.stock, limit_per_user = NULL,
    opens_at = NULL, closes_at = NULL, epoch = product.epoch + 1, version = product.version + 1,
    split = false, hold_s = NULL

-- name: buckets_end
DELETE FROM bucket WHERE product_id BETWEEN $1::bigint AND $1::bigint + ($2::bigint - 1)

-- Of a product that is new there is nothing.
-- name: retire
WITH ended AS (
    SELECT id, epoch - 1 AS epoch FROM product
    WHERE id BETWEEN $1::bigint AND $1::bigint + ($2::bigint - 1) AND version > 1
), written AS (
    INSERT INTO retired (product_id, epoch) SELECT id, epoch FROM ended RETURNING epoch
)
SELECT CASE WHEN (SELECT count(*) FROM written) <> (SELECT count(*) FROM ended) THEN 'retired' END::bigint

-- name: audit
WITH sale AS (
    SELECT id, initial_stock, epoch, limit_per_user, early,
           stock + coalesce((SELECT sum(stock) FROM bucket
                             WHERE product_id = product.id AND epoch = product.epoch), 0)::bigint AS stock
    FROM product WHERE id = $1::bigint
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
       coalesce((SELECT count(*) FROM (SELECT user_id FROM sold WHERE status IN (1, 4)
                                       GROUP BY user_id HAVING sum(quantity) > sale.limit_per_user) AS u),
                0)::bigint AS limit_violations,
       coalesce((SELECT sum(quantity) FROM sold WHERE status = 0), 0)::bigint AS queued,
       coalesce((SELECT string_agg(strategy, ',' ORDER BY strategy)
                 FROM (SELECT strategy FROM sold WHERE status <> 3 UNION SELECT strategy FROM added) AS s),
                '') AS strategies,
       early, coalesce((SELECT sum(quantity) FROM sold WHERE status = 4), 0)::bigint AS held,
       coalesce((SELECT sum(quantity) FROM sold WHERE status = 3 AND reason = 'lost'), 0)::bigint AS lost
FROM sale

-- The house ----------------------------------------------------------------------------------------------------

-- Which cluster this is a copy of, and its timeline; 0 where it takes no writes.
-- name: timeline
SELECT (SELECT system_identifier::text FROM pg_control_system()),
       CASE WHEN pg_is_in_recovery() THEN 0
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END

-- In one statement with the look: what has begun to commit in between is not met.
-- name: cancel_waiting
SELECT pg_cancel_backend(pid) FROM pg_stat_activity
WHERE pid = $1::bigint AND wait_event_type = 'Lock'

-- What a session relies on, whatever is set for its role or its database; a setting that this PostgreSQL does not know,
-- and one whose value is NULL, is left out. No plan here depends on its values, and to plan anew costs more than a short
-- statement's work (what depends on the tables' size: discard_plans), as does to compile one. Text travels as it is
-- stored. $4 is the process that serves this session, as the client was told; where it is another one there is a pooler
-- in between, and nothing is set. NULL: for this transaction alone, and planned anew, since no session can be told to
-- forget its plans.
-- name: session_settings
SELECT count(set_config(name, value, $4::bigint IS NULL)), pg_postmaster_start_time()
FROM (VALUES ('statement_timeout', $1::text),
             ('idle_in_transaction_session_timeout', $2::text),
             ('lock_timeout', $3::text),
             ('transaction_timeout', '0'),
             ('idle_session_timeout', '0'),
             ('row_security', 'off'),
             ('client_connection_check_interval', '1s'),
             ('default_transaction_isolation', 'read committed'),
             ('default_transaction_deferrable', 'off'),
             ('jit', 'off'),
             ('plan_cache_mode', CASE WHEN $4::bigint IS NULL THEN 'force_custom_plan' ELSE 'force_generic_plan' END),
             ('client_min_messages', 'warning'),
             ('client_encoding', current_setting('server_encoding'))) AS setting (name, value)
WHERE value IS NOT NULL AND current_setting(name, true) IS NOT NULL
  AND ($4::bigint IS NULL OR $4::bigint = pg_backend_pid())

-- Whether this statement has the name here that it was sent with; and its end.
-- name: statement_names
SELECT count(*) FROM pg_prepared_statements WHERE name = 'statement_names'

-- name: statement_names_drop
DEALLOCATE statement_names

-- $2: what commits wait for; NULL: what the role has it set to.
-- name: session_limits
SELECT set_config('lock_timeout', $1::text, false), set_config('synchronous_commit', $2::text, false)

-- A session that began when the tables were empty has chosen to read them as a whole, or to begin a join with them, and
-- would go on so with each statement when they have millions of rows.
-- name: discard_plans
DISCARD PLANS

-- What commits wait for; whether there can be any; the transaction that has waited longest for the log's flush or for the
-- standby, of those of this role, when one does, and whether it is for the standby; whether there is none of the standbys
-- that are waited for (a role without pg_monitor sees how many there are, and not which); and the database's encoding where
-- it does not take UTF-8 as the bytes that it is (those of one byte a character take any).
-- name: server_state
SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
       current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
       pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
       waiter.number, waiter.replicates,
       current_setting('synchronous_standby_names') <> ''
         AND current_setting('synchronous_commit') NOT IN ('off', 'local')
         AND NOT EXISTS (SELECT FROM pg_stat_replication WHERE coalesce(sync_state IN ('sync', 'quorum'), true)),
       CASE WHEN current_setting('server_encoding') <> 'UTF8'
             AND pg_encoding_max_length(pg_char_to_encoding(current_setting('server_encoding'))) > 1
            THEN current_setting('server_encoding') END
FROM (VALUES (true)) AS one LEFT JOIN LATERAL
     (SELECT backend_xid::text AS number, wait_event = 'SyncRep' AS replicates FROM pg_stat_activity
      WHERE lower(wait_event) IN ('syncrep', 'walsync', 'walwrite') AND backend_xid IS NOT NULL
        AND usename = current_user AND datname = current_database()
      ORDER BY age(backend_xid) DESC LIMIT 1) AS waiter ON true

-- The oldest transaction that somebody else's snapshot of this database, or a standby's, may still be before: rows that
-- have died since it stay. Nothing has to stay for a VACUUM. A number that no ended transaction has come up to keeps
-- nothing yet: while nobody writes, every reader has the same. PostgreSQL hides from a plain role since when each is
-- there, the numbers it does not.
-- name: oldest_held
WITH held AS (
    SELECT unnest(ARRAY[backend_xid, backend_xmin]) AS number FROM pg_stat_activity
    WHERE (datname = current_database() OR datid IS NULL) AND pid <> pg_backend_pid()
      AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
    UNION ALL SELECT xmin FROM pg_replication_slots
    UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
)
SELECT number::text FROM held WHERE age(number) > age(pg_snapshot_xmax(pg_current_snapshot())::xid)
ORDER BY age(number) DESC LIMIT 1

-- The schema in which the tables are or are to be; whether they are there; whether the schema is; whether this role may
-- make them. It is the one that is named $1, or with the default name the first one of the search_path that has the
-- table of versions, where servers before --schema put it. Read from the catalog, which needs no right: to_regclass
-- would see nothing where USAGE of the schema has been revoked, and other tables would be made.
-- name: schema_find
WITH found AS (
    SELECT nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    LEFT JOIN regexp_split_to_table(current_setting('search_path'), ' *, *') WITH ORDINALITY AS path (name, place)
           ON path.name IN (nspname, quote_ident(nspname)) OR path.name = '"$user"' AND nspname = current_user
    WHERE relname = 'seckill_schema' AND relkind IN ('r', 'p')
      AND (nspname = $1::text OR $1::text = 'seckill' AND path.place IS NOT NULL)
    ORDER BY nspname <> $1::text, path.place LIMIT 1
)
SELECT quote_ident(coalesce(found.nspname, $1::text)), found.nspname IS NOT NULL, pg_namespace.oid IS NOT NULL,
       CASE WHEN pg_namespace.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
            ELSE has_schema_privilege(pg_namespace.oid, 'CREATE') END,
       quote_ident(current_user), quote_ident(current_database()), coalesce(found.nspname <> $1::text, false),
       coalesce(found.nspname, $1::text)
FROM (VALUES (1)) AS one LEFT JOIN found ON true
LEFT JOIN pg_namespace ON pg_namespace.nspname = coalesce(found.nspname, $1::text)

-- name: version_read
SELECT coalesce(max(version), 0)::bigint FROM seckill_schema

-- How many of the tables $2 are not in the schema $1, an identifier; a figure that rises when one of them has become
-- four times as large, by the statistics, which lag a second behind and wait for nobody who has locked a table; and what
-- gives this role the rights $3 on them, as far as it lacks them, and on what they number their rows with.
-- name: schema_state
WITH ours AS (
    SELECT oid FROM pg_namespace WHERE quote_ident(nspname) = $1::text
), asked AS (
    SELECT name, rights, nth::int, (SELECT pg_class.oid FROM pg_class JOIN ours ON relnamespace = ours.oid
                          WHERE relname = name AND relkind IN ('r', 'p', 'v')) AS id
    FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS one (name, rights, nth)
), lacking AS (
    SELECT name, string_agg(a_right, ', ' ORDER BY place) AS rights
    FROM asked, regexp_split_to_table(rights, ',') WITH ORDINALITY AS one (a_right, place)
    WHERE id IS NOT NULL AND NOT has_table_privilege(id, a_right)
    GROUP BY name
), grants AS (
    SELECT 1 AS place, format('USAGE ON SCHEMA %s', $1::text) AS what
    FROM ours WHERE NOT has_schema_privilege(oid, 'USAGE')
    UNION ALL
    SELECT 2, format('%s ON %s', rights, string_agg(format('%s.%I', $1::text, name), ', ' ORDER BY name))
    FROM lacking GROUP BY rights
    UNION ALL
    SELECT 3, format('USAGE ON SEQUENCE %s.%I', $1::text, relname)
    FROM pg_class JOIN pg_depend ON objid = pg_class.oid AND deptype = 'a' JOIN asked ON refobjid = id
    WHERE CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege(pg_class.oid, 'USAGE') ELSE false END
)
SELECT (SELECT count(*) FROM asked WHERE id IS NULL),
       (SELECT coalesce(sum(least(ceil(ln(1 + pg_stat_get_live_tuples(id) / 64.0) / ln(4.0)), 15)::bigint
                            << (4 * (nth - 1))), 0)::bigint FROM asked),
       coalesce((SELECT string_agg(format('GRANT %s TO %I;', what, current_user), ' ' ORDER BY place, what)
                 FROM grants), '')

-- The base, and the database's mark among others: where it is (whoever asks, with whatever search_path), and its number.
-- name: epoch_base
SELECT base, format('%s.%s (%s)', current_database(),
                    (SELECT nspname FROM pg_class JOIN pg_namespace AS room ON room.oid = relnamespace
                     WHERE pg_class.oid = epoch_base.tableoid), base >> 26)
FROM epoch_base

-- The purge waits for no row, so it stands in no circle of those who wait for each other: what somebody has locked is
-- left for the next piece. In the lock order all the same: what a user holds, then the orders. Sales come in this
-- order, from behind $1 and $2 on. What is locked is chosen in a WITH, which is executed once; a subquery behind IN may
-- be planned as the inner side of a nested loop, and would choose, and lock, anew for each row of the table.
-- name: retired_next
SELECT product_id, epoch FROM retired WHERE (product_id, epoch) > ($1::bigint, $2::bigint)
ORDER BY product_id, epoch LIMIT 1 FOR UPDATE SKIP LOCKED

-- An order of the new sale may take a row over meanwhile: locking looks at the newest row again.
-- name: purge_purchases
WITH ended AS MATERIALIZED (
    SELECT product_id, user_id FROM purchase
    WHERE product_id = $1::bigint AND epoch <= $2::bigint LIMIT $3::bigint FOR UPDATE SKIP LOCKED)
DELETE FROM purchase USING ended
WHERE purchase.product_id = ended.product_id AND purchase.user_id = ended.user_id

-- name: purge_orders
WITH ended AS MATERIALIZED (
    SELECT id FROM orders WHERE product_id = $1::bigint AND epoch <= $2::bigint ORDER BY entered, id
    LIMIT $3::bigint FOR UPDATE SKIP LOCKED)
DELETE FROM orders USING ended WHERE orders.id = ended.id

-- name: purge_changes
DELETE FROM order_change WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM order_change WHERE product_id = $1::bigint AND epoch <= $2::bigint LIMIT $3::bigint))

-- name: purge_restocks
WITH ended AS MATERIALIZED (
    SELECT id FROM restock WHERE product_id = $1::bigint AND epoch <= $2::bigint FOR UPDATE SKIP LOCKED)
DELETE FROM restock USING ended WHERE restock.id = ended.id

-- Unless something is left that was locked.
-- name: retired_done
DELETE FROM retired WHERE product_id = $1::bigint AND epoch = $2::bigint
  AND NOT EXISTS (SELECT FROM purchase WHERE product_id = $1::bigint AND epoch <= $2::bigint)
  AND NOT EXISTS (SELECT FROM orders WHERE product_id = $1::bigint AND epoch <= $2::bigint)
  AND NOT EXISTS (SELECT FROM order_change WHERE product_id = $1::bigint AND epoch <= $2::bigint)
  AND NOT EXISTS (SELECT FROM restock WHERE product_id = $1::bigint AND epoch <= $2::bigint)

-- Rows of a dump may bear numbers of transactions that this PostgreSQL has yet to reach: they count as written now.
-- name: reenter_orders
UPDATE orders SET entered = pg_current_xact_id() WHERE id = ANY (ARRAY(
    SELECT id FROM orders WHERE entered >= pg_snapshot_xmax(pg_current_snapshot())
    ORDER BY entered, id LIMIT $1::bigint FOR UPDATE SKIP LOCKED))

-- After all the orders: a change comes in the feed behind the row that it changes.
-- name: reenter_changes
UPDATE order_change SET entered = pg_current_xact_id() WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM order_change WHERE entered >= pg_snapshot_xmax(pg_current_snapshot())
      AND NOT EXISTS (SELECT FROM orders WHERE entered >= pg_snapshot_xmax(pg_current_snapshot()))
    ORDER BY entered, id LIMIT $1::bigint FOR UPDATE SKIP LOCKED))
