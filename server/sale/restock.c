/* One relative UPDATE under the row's lock: right beside every strategy that decides on the row. */
#include "sale/restock.h"

#include "postgres/fast_path.h"

bool purchase_restock_finish(struct session *session, struct order *order, int64_t epoch)
{
    session->has_row = true;
    return purchase_end(
        session, order,
        pg_exec(session->pg, SQL_RESTOCK_INSERT,
                PG_ARGS(pg_uuid(&order->id), pg_int8(order->product_id), pg_int8(epoch),
                        pg_int8(order->quantity), pg_text(order->strategy->name),
                        pg_time(order->created_us), pg_text(order->key[0] ? order->key : NULL)),
                session->work_until_us));
}

bool purchase_restock(struct session *session, struct order *order)
{
    int64_t fence = session->hold.fence;
    struct product_row row;

    pg_begin(session->pg);
    if (order->no_wait &&
        !purchase_read(session, order, SQL_PRODUCT_LOCK_NOWAIT, session->work_until_us, &row))
        return false;
    if (!purchase_run(session, order, SQL_STOCK_ADD,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(order->quantity), pg_int8(fence)),
                      purchase_row_deadline(session, order)))
        return false;
    if (pg_rows(session->pg) == 0)
        return fence ? purchase_overtaken(session, order, MISSED_PRODUCT)
                     : purchase_unmatched(session, order);
    purchase_row(session->pg, order, &row);
    fast_path_note(session->pg, order->product_id, row.epoch, purchase_row_is_simple(&row));
    session_work_pause(session);
    if (session_lease_lost(session))
        return purchase_refuse(session, order, ORDER_LEASE_LOST);
    return purchase_restock_finish(session, order, row.epoch);
}
