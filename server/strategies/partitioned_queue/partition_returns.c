/*
 * Cancels, expiries and restocks that came through a set's queue, one transaction each.
 *
 * A cancel (an expiry is one) stands behind its order in the queue, but the order's own message may
 * have been lost; so the order is decided first, if it still is to be. Then it is the cancel of
 * every strategy: the status by compare-and-set and a relative stock. A restock is new only if
 * nobody has inserted its id: neither an earlier delivery of the message nor the tombstone of an
 * instance that has given it up.
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "postgres/catalog.h"
#include "sale/decide_many/held.h"
#include "sale/purchase_cancel.h"
#include "strategies/partitioned_queue/partition.h"

enum { ATTEMPTS_MAX = 20 };

static bool begin_work(struct session *session)
{
    session_begin_work(session);
    return pg_connect(session->pg, session->work_until_us);
}

/* And begins a transaction that has the product's row. PG_BUSY: somebody else has it, or the entry
 * has waited in vain for another lock a moment ago. */
static enum pg_status begin_work_on(struct session *session, const struct partition_entry *entry)
{
    struct held *held = partition_held();

    if (held_rests(held, &entry->id))
        return PG_BUSY;
    return begin_work(session)
               ? held_take(held, session->pg, entry->product_id, session->work_until_us)
               : PG_LOST;
}

/* It could not begin, or not end. True: because somebody holds a lock. */
static bool put_off(struct partition_entry *entry, enum pg_status status)
{
    entry->outcome = ORDER_RETRY;
    return status == PG_BUSY;
}

bool partition_decide_cancel(struct session *session, struct partition_entry *entry)
{
    /* No wait that ends early may be answered with "not done": an earlier delivery's COMMIT may
     * stand in the way. */
    struct order order = {.kind = entry->kind,
                          .strategy = partition_strategy(session),
                          .id = entry->id,
                          .product_id = entry->product_id,
                          .outcome = ORDER_RETRY,
                          .wait_until_us = INT64_MAX};

    if (!partition_decide_buys(session, entry, 1))
        return false;
    if (entry->outcome == ORDER_RETRY || entry->missing)
        return true;
    for (int i = 0; order.outcome == ORDER_RETRY && i < ATTEMPTS_MAX; i++) {
        if (!begin_work(session))
            return false;
        order.outcome = ORDER_PENDING;
        if (!purchase_cancel_look(session, &order))
            continue;
        order.user_id = order.record.user_id;
        order.quantity = order.record.quantity;
        enum pg_status status = begin_work_on(session, entry);
        if (status != PG_OK)
            return put_off(entry, status);
        purchase_cancel_write(session, &order, purchase_return_stock);
        if (order.waited) {
            held_waited(partition_held(), &entry->id);
            return put_off(entry, PG_BUSY);
        }
    }
    entry->outcome = order.outcome;
    entry->created_us = order.record.created_us;
    return order.outcome != ORDER_RETRY && order.outcome != ORDER_UNSETTLED &&
           order.outcome != ORDER_OUTCOME_UNKNOWN && order.outcome != ORDER_BACKEND_UNAVAILABLE;
}

/* Its id or its key is there already: which, and what does that say? Whoever wrote it may not have
 * heard whether that is durable, so it is waited for first. */
static enum pg_status look_up(struct session *session, struct partition_entry *entry)
{
    struct pg *pg = session->pg;
    enum pg_status status = pg_exec(pg, SQL_FLUSH_READ, PG_NO_ARGS, session->work_until_us);

    if (status == PG_OK)
        status =
            pg_exec(pg, SQL_RESTOCK_STATUS, PG_ARGS(pg_uuid(&entry->id)), session->work_until_us);
    if (status == PG_OK && pg_rows(pg) == 1) {
        /* A tombstone: the instance that it came from has said that it was not done. */
        entry->outcome = pg_get_int8(pg, 0, 0) > 0 ? ORDER_RESTOCKED : ORDER_BACKEND_UNAVAILABLE;
        return status;
    }
    if (status == PG_OK)
        status = pg_exec(pg, SQL_RESTOCK_BY_KEY,
                         PG_ARGS(pg_int8(entry->product_id), pg_text(entry->key)),
                         session->work_until_us);
    if (status == PG_OK && pg_rows(pg) == 0)
        return pg_withheld(pg, "restock");
    if (status == PG_OK)
        entry->outcome =
            pg_get_int8(pg, 0, 0) == entry->quantity ? ORDER_REPLAYED : ORDER_IDEMPOTENCY_MISMATCH;
    return status;
}

static enum pg_status restock(struct session *session, struct partition_entry *entry)
{
    struct pg *pg = session->pg;
    struct pg_value product = pg_int8(entry->product_id);
    struct pg_value epoch = pg_int8(entry->epoch);
    struct pg_value quantity = pg_int8(entry->quantity);

    entry->outcome = ORDER_SALE_NOT_OPEN;
    enum pg_status status =
        pg_exec(pg, SQL_STOCK_RETURN, PG_ARGS(product, epoch, quantity), session->work_until_us);
    entry->missing = false;
    if (status == PG_OK && pg_affected(pg) == 0) {
        status = pg_exec(pg, SQL_PRODUCT_READ, PG_ARGS(product), session->work_until_us);
        if (status == PG_OK && pg_rows(pg) == 1 && pg_get_int8(pg, 0, 1) == entry->epoch)
            return pg_withheld(pg, "product");
        entry->missing = status == PG_OK; /* a PUT has ended the sale that it was for */
        return status;
    }
    if (status != PG_OK)
        return status;
    status = pg_exec(pg, SQL_QUEUE_RESTOCK_INSERT,
                     PG_ARGS(pg_uuid(&entry->id), product, epoch, quantity,
                             pg_text(partition_strategy(session)->name), pg_time(entry->created_us),
                             pg_text(entry->key[0] ? entry->key : NULL)),
                     session->work_until_us);
    if (status != PG_OK)
        return status;
    if (pg_affected(pg) == 0) {
        pg_rollback(pg, session->work_until_us);
        return look_up(session, entry);
    }
    session_work_pause(session);
    FAILPOINT("queue.restocking");
    status = pg_commit(pg, session->work_until_us);
    if (status == PG_OK)
        entry->outcome = ORDER_RESTOCKED;
    return status;
}

bool partition_decide_restock(struct session *session, struct partition_entry *entry)
{
    enum pg_status status = PG_CONFLICT;

    for (int i = 0; status == PG_CONFLICT && i < ATTEMPTS_MAX; i++) {
        status = begin_work_on(session, entry);
        if (status == PG_BUSY)
            return put_off(entry, status);
        if (status == PG_OK)
            status = restock(session, entry);
        pg_rollback(session->pg, session->work_until_us);
    }
    if (status == PG_WITHHELD)
        log_warn("a restock waits: %s", pg_error(session->pg)->text);
    if (status == PG_BUSY || status == PG_WITHHELD) {
        held_waited(partition_held(), &entry->id);
        return put_off(entry, PG_BUSY);
    }
    if (pg_blames_rows(status)) {
        log_error("restock of product %lld: %s", (long long)entry->product_id,
                  pg_error(session->pg)->text);
        entry->outcome = ORDER_INTERNAL_ERROR;
        return true;
    }
    return status == PG_OK;
}
