/*
 * buckets: a hot product's stock stands in N rows, so N orders can be written at once.
 *
 * An order takes from the bucket that its id hashes to, by `conditional`'s statement: decision and
 * write at once, under that row's lock. When the bucket is short, one SELECT in one snapshot shows
 * row and buckets: the next bucket that has enough is tried; when none has but all together do, the
 * product's row and then the buckets are locked in order, the order takes its units from the sum,
 * and the rest is spread evenly again. So a sale's first order splits the stock, too.
 *
 * It cannot oversell: units move under the product's row lock and are taken under a bucket's. "Sold
 * out" is said by one snapshot of everything, or with everything locked: fragments are never left
 * unsold. Strategies that decide on the row fold the buckets back when it is short. A PUT deletes
 * the buckets: an order of the old sale commits before it, or finds nothing. It is retried when
 * others emptied the bucket in between. A crash loses nothing that was answered. With wait_ms=0 a
 * lock is waited for a millisecond. A cancel adds to the order's bucket or to the row, a restock to
 * the row.
 *
 * Sources: sharded counters (Google App Engine documentation, 2008); O'Neil, "The Escrow
 * Transactional Method", TODS 1986.
 */
#include "postgres/fast_path.h"
#include "sale/purchase_cancel.h"
#include "sale/purchase_write.h"
#include "strategies/strategies.h"

/* How often others may empty the bucket that has enough, before all of them are locked. */
enum { MISSES_MAX = 3 };

/* Of the id's random part. */
static int64_t hash_of(const struct order *order)
{
    return order->id.bytes[14] << 8 | order->id.bytes[15];
}

/* True: decided. Otherwise no lock is left behind. */
static bool sell_in_steps(struct session *session, struct order *order, int64_t n)
{
    struct product_row row;

    pg_begin(session->pg);
    if (!purchase_run(session, order, SQL_BUCKET_TAKE,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(order->quantity), pg_int8(n)),
                      purchase_row_deadline(session, order)))
        return true;
    if (pg_rows(session->pg) == 0) {
        pg_rollback(session->pg, session->work_until_us);
        return false;
    }
    purchase_row(session->pg, order, &row);
    session_work_pause(session);
    purchase_finish(session, order, &row);
    return true;
}

/* One snapshot of row and buckets: false when it decides, else in *next the first bucket from `n`
 * on that has enough, or -1. */
static bool look(struct session *session, struct order *order, int64_t n, int64_t *next)
{
    struct product_row row;

    if (!purchase_run(session, order, SQL_BUCKET_LOOK,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(order->quantity), pg_int8(n)),
                      session->work_until_us))
        return false;
    if (pg_rows(session->pg) == 0)
        return purchase_refuse(session, order, ORDER_UNKNOWN_PRODUCT);
    purchase_row(session->pg, order, &row);
    row.stock += pg_get_int8(session->pg, 0, PRODUCT_ROW_COLUMNS);
    row.split = false; /* the buckets are counted in */
    *next = pg_is_null(session->pg, 0, PRODUCT_ROW_COLUMNS + 1)
                ? -1
                : pg_get_int8(session->pg, 0, PRODUCT_ROW_COLUMNS + 1);
    return purchase_allowed(session, order, &row);
}

/* Takes from the sum of everything, and spreads what is left. */
static void sell_gathered(struct session *session, struct order *order)
{
    int64_t until_us = purchase_row_deadline(session, order);
    struct product_row row;

    pg_begin(session->pg);
    if (!purchase_read(session, order, SQL_PRODUCT_LOCK, until_us, &row) ||
        !purchase_run(session, order, SQL_BUCKET_LOCK_ALL,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(row.epoch)), until_us))
        return;
    row.stock += pg_get_int8(session->pg, 0, 0);
    row.split = false;
    if (!purchase_allowed(session, order, &row))
        return;
    session_work_pause(session);
    if (purchase_run(session, order, SQL_BUCKET_SPREAD,
                     PG_ARGS(pg_int8(order->product_id), pg_int8(row.epoch),
                             pg_int8(row.stock - order->quantity),
                             pg_int8(session->services->settings->buckets)),
                     session->work_until_us))
        purchase_finish(session, order, &row);
}

/* Two cancels of one order meet on its bucket, or else on the product's row. */
static enum pg_status return_stock(struct session *session, const struct order *order,
                                   int64_t epoch)
{
    enum pg_status status = pg_exec(session->pg, SQL_BUCKET_RETURN,
                                    PG_ARGS(pg_int8(order->product_id), pg_int8(epoch),
                                            pg_int8(order->quantity), pg_int8(hash_of(order))),
                                    session->work_until_us);

    return status == PG_OK && pg_affected(session->pg) == 0
               ? purchase_return_stock(session, order, epoch)
               : status;
}

static bool cancel(struct session *session, struct order *order)
{
    return purchase_cancel_by(session, order, return_stock);
}

static void buckets_buy(struct session *session, struct order *order)
{
    int64_t n = hash_of(order) % session->services->settings->buckets;
    bool decided = true;
    int64_t next = -1;

    if (purchase_is_simple(session, order))
        decided = purchase_at_once(session, order, SQL_BUCKET_BUY,
                                   purchase_epoch(session, order->product_id), PG_ARGS(pg_int8(n)));
    else
        decided = sell_in_steps(session, order, n);
    if (decided || !look(session, order, n, &next))
        return;
    if (next < 0 || order->attempts > MISSES_MAX)
        sell_gathered(session, order);
    else if (!sell_in_steps(session, order, next))
        order->outcome = ORDER_RETRY;
}

const struct strategy strategy_buckets = {
    .name = "buckets",
    .summary = "The stock stands in several rows, so that orders need not wait for one.",
    .summary_zh = "分桶：库存分散在多行里，订单不必都等同一行",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    .lane = {.workers = 16, .max_batch = 1},
    .buy = buckets_buy,
    .cancel = cancel,
};
