/*
 * The intake of partitioned-queue: a batch's buys become queued rows, in one statement.
 *
 * Happy path: the statement's commit accepts the orders into the sale whose epoch this process has
 * seen. The key's UNIQUE decides repeats: if the key's order lives, it stays and no row is written;
 * a dead order's row is taken over.
 *
 * Failure modes:
 * - The statement comes late, when another sale has begun: it matches no row, and the present epoch
 *   is read.
 * - The reply is lost: drive settles the orders by their ids, and the resender publishes those
 * whose rows are there.
 * - A repeat of a queued order: its id is published once more, so that this instance gets the
 *   decision, too.
 */
#include "base/failpoint.h"
#include "postgres/catalog.h"
#include "postgres/fast_path.h"
#include "sale/decide_many/columns.h"
#include "strategies/partitioned_queue/partition.h"

#include <string.h>

static bool repeats_earlier(const struct batch *batch, const struct order *order)
{
    for (const struct order *at = batch->orders; at != order; at = at->next)
        if (at->kind == ORDER_BUY && at->user_id == order->user_id &&
            strcmp(at->key, order->key) == 0)
            return true;
    return false;
}

void partition_set_pending(struct batch *batch, enum order_outcome outcome)
{
    for (struct order *order = batch->orders; order; order = order->next)
        if (order->outcome == ORDER_PENDING)
            order->outcome = outcome;
}

/* Writes the batch's buys into the sale of this epoch. No row: there is no such sale (any more). */
static enum pg_status write_rows(struct session *session, struct order **buys, int count,
                                 int64_t product_id, int64_t epoch)
{
    struct order_columns rows;
    int64_t holds[PARTITION_BATCH]; /* as they were asked for: nothing is decided yet */

    columns_init(&rows);
    for (int i = 0; i < count; i++) {
        columns_add_order(&rows, buys[i], epoch);
        holds[i] = buys[i]->hold_s;
    }
    return pg_exec(session->pg, SQL_QUEUE_INSERT,
                   PG_ARGS(pg_int8(product_id), pg_text(partition_strategy(session)->name),
                           pg_uuids(rows.ids, count), pg_int8s(rows.users, count),
                           pg_int8s(rows.quantities, count), pg_texts(rows.keys, count),
                           pg_times(rows.created, count), pg_int8(epoch), pg_int8s(holds, count)),
                   session->work_until_us);
}

/* Those buys that no row was written for have a key with an order. */
static void mark_taken_keys(struct session *session, struct order **buys, int count)
{
    int at = 0; /* the rows come in about the order in which they were asked for */

    for (int i = 0; i < count; i++)
        buys[i]->outcome = ORDER_KEY_TAKEN;
    for (int row = 0; row < pg_rows(session->pg); row++) {
        if (pg_is_null(session->pg, row, 1))
            continue;
        struct uuid id = pg_get_uuid(session->pg, row, 1);
        for (int looked = 0; looked < count; looked++, at = (at + 1) % count)
            if (uuid_equal(&id, &buys[at]->id)) {
                buys[at]->outcome = ORDER_PENDING;
                break;
            }
    }
}

/* The key's order, of which this is a repeat; one that is queued is waited for. */
static void join_first(struct session *session, struct order *repeat)
{
    const struct order_record *record = &repeat->record;
    enum pg_status status =
        pg_exec(session->pg, SQL_ORDER_BY_KEY,
                PG_ARGS(pg_int8(repeat->user_id), pg_text(repeat->key)), session->work_until_us);

    if (status != PG_OK) {
        purchase_failed(session, repeat, status, false);
        return;
    }
    if (pg_rows(session->pg) == 0) {
        /* Refused in between, or its sale has ended. */
        purchase_missed(session, repeat, MISSED_KEY, "orders");
        return;
    }
    purchase_saw_order(session->pg, repeat);
    if (record->product_id != repeat->product_id || record->quantity != repeat->quantity)
        repeat->outcome = ORDER_IDEMPOTENCY_MISMATCH;
    else if (purchase_flush_read(session, repeat, session->work_until_us))
        repeat->outcome = ORDER_REPLAYED;
}

/* `writing`: the buys' rows may be there. */
static void accept_failed(struct session *session, struct batch *batch, enum pg_status status,
                          bool writing)
{
    for (struct order *order = batch->orders; order; order = order->next) {
        if (order->outcome != ORDER_PENDING)
            continue;
        purchase_failed(session, order, status, writing && order->kind == ORDER_BUY);
    }
}

/* The product's present sale; false: there is none, or nobody knows, and the orders are decided. */
static bool read_sale(struct session *session, struct batch *batch, int64_t *epoch)
{
    enum pg_status status = pg_exec(session->pg, SQL_PRODUCT_READ,
                                    PG_ARGS(pg_int8(batch->product_id)), session->work_until_us);
    struct product_row row;

    if (status != PG_OK) {
        accept_failed(session, batch, status, false);
        return false;
    }
    if (pg_rows(session->pg) == 0) {
        partition_set_pending(batch, ORDER_UNKNOWN_PRODUCT);
        return false;
    }
    purchase_row_at(session->pg, 0, &row);
    *epoch = row.epoch;
    fast_path_note_epoch(session->pg, batch->product_id, row.epoch);
    return true;
}

static bool has_keys(struct order **buys, int count)
{
    for (int i = 0; i < count; i++)
        if (buys[i]->key[0])
            return true;
    return false;
}

/* Writes rows into this sale. *rows: what came back, nothing when it is not the present one;
 * PG_BUSY: one of the buys waits for its key. */
static enum pg_status write_buys(struct session *session, struct order **buys, int count,
                                 int64_t product_id, int64_t epoch, int64_t most_ms, int *rows)
{
    if (has_keys(buys, count))
        purchase_many_may_wait(session, buys, count, most_ms);
    else /* there is nothing to wait for */
        pg_lock_until(session->pg, INT64_MAX, session->lock_most_ms);
    enum pg_status status = write_rows(session, buys, count, product_id, epoch);
    *rows = status == PG_OK ? pg_rows(session->pg) : 0;
    if (*rows > 0)
        mark_taken_keys(session, buys, count);
    for (int i = 0; *rows > 0 && i < count; i++)
        if (buys[i]->outcome == ORDER_KEY_TAKEN && !buys[i]->key[0])
            purchase_withheld(session, buys[i], "orders");
    return status;
}

/* One of them waits for its key: the others do not wait for it. Those that are not written have
 * their outcomes. */
static void write_in_halves(struct session *session, struct order **buys, int count,
                            int64_t product_id, int64_t epoch)
{
    for (int begin = 0, half = (count + 1) / 2; begin < count; begin += half, half = count - half) {
        struct order **these = buys + begin;
        int rows;
        enum pg_status status =
            write_buys(session, these, half, product_id, epoch, PURCHASE_FEWER_WAIT_MS, &rows);
        if (status == PG_BUSY && half > 1) {
            write_in_halves(session, these, half, product_id, epoch);
            continue;
        }
        session->has_row = true; /* which is not needed: it is the key */
        for (int i = 0; i < half && rows == 0; i++)
            if (status == PG_OK)
                these[i]->outcome = ORDER_RETRY; /* another sale has begun in between */
            else
                purchase_failed(session, these[i], status, true);
    }
}

/* Writes into the sale that was last seen, or else into the present one. */
static bool write_into_sale(struct session *session, struct order **buys, int count,
                            struct batch *batch, int64_t *epoch)
{
    *epoch = fast_path_epoch(session->pg, batch->product_id);
    for (int i = 0; i < 2; i++) {
        if ((*epoch == 0 || i > 0) && !read_sale(session, batch, epoch))
            return false;
        int rows;
        enum pg_status status = write_buys(session, buys, count, batch->product_id, *epoch,
                                           PURCHASE_MANY_WAIT_MS, &rows);
        if (status == PG_BUSY) {
            write_in_halves(session, buys, count, batch->product_id, *epoch);
            return true;
        }
        if (status != PG_OK) {
            accept_failed(session, batch, status, true);
            return false;
        }
        if (rows > 0)
            return true;
    }
    partition_set_pending(batch, ORDER_RETRY); /* yet another sale has begun in between */
    return false;
}

bool partition_accept(struct session *session, struct batch *batch, int64_t *epoch)
{
    struct order *buys[PARTITION_BATCH];
    int count = 0;

    for (struct order *order = batch->orders; order; order = order->next) {
        if (order->kind != ORDER_BUY)
            continue;
        if (order->key[0] && repeats_earlier(batch, order))
            order->outcome = ORDER_RETRY; /* then it finds the first one's row */
        else
            buys[count++] = order;
    }
    if (!write_into_sale(session, buys, count, batch, epoch))
        return false;
    for (int i = 0; i < count; i++)
        if (buys[i]->outcome == ORDER_KEY_TAKEN)
            join_first(session, buys[i]);
    FAILPOINT("queue.written");
    return true;
}
