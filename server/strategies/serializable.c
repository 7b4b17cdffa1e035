/*
 * serializable: the plain body, and PostgreSQL is asked to make it as if orders came one by one.
 *
 * Read the stock, decide, write the absolute figure, insert the order, all at SERIALIZABLE. Two
 * that read the same figure cannot both commit: the second to write the row is refused with 40001,
 * at its UPDATE or, for a conflict that only the order's other rows show, at its COMMIT. It cannot
 * oversell, and no statement of it says why: the isolation level is the whole protection, also
 * against strategies that run beside it at READ COMMITTED, because an UPDATE of a row that has
 * changed since the snapshot is refused whoever changed it.
 *
 * 40001 and 40P01 make it again: the whole transaction, decided anew, after a random pause, inside
 * the order's time and a cap; then cas_exhausted. On a hot row that is most of the work. An UPDATE
 * waits for the row's present writer, which counts as the order's wait (wait_timeout, phase lock);
 * wait_ms=0 reads with NOWAIT. A crash loses nothing that was answered.
 *
 * Source: PostgreSQL documentation, "Serializable Isolation Level", "Serialization Failure
 * Handling"; Ports and Grittner, "Serializable Snapshot Isolation in PostgreSQL", VLDB 2012.
 */
#include "sale/purchase_write.h"
#include "strategies/strategies.h"

static void serializable_buy(struct session *session, struct order *order)
{
    enum sql read = order->no_wait ? SQL_PRODUCT_LOCK_NOWAIT : SQL_PRODUCT_READ;
    struct product_row row;

    pg_begin_serializable(session->pg);
    if (!purchase_read(session, order, read, session->work_until_us, &row) ||
        !purchase_allowed(session, order, &row))
        return;
    session_work_pause(session);
    if (!purchase_run(session, order, SQL_STOCK_SET,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(row.epoch),
                              pg_int8(row.stock - order->quantity)),
                      purchase_row_deadline(session, order)))
        return;
    if (pg_affected(session->pg) == 0)
        purchase_overtaken(session, order, row.version);
    else
        purchase_finish(session, order, &row);
}

const struct strategy strategy_serializable = {
    .name = "serializable",
    .summary = "Plain reads and writes at SERIALIZABLE; what PostgreSQL refuses is made again.",
    .summary_zh = "SERIALIZABLE 级别的普通读写，被 PostgreSQL 拒绝就整体重来",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    LANE_OF_A_ROW,
    .buy = serializable_buy,
};
