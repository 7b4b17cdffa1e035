/* Writing one buy: the stock's new figure, the user's limit, the order's row, COMMIT; together
 * where that fits the order. */
#include "sale/purchase_write.h"

#include "postgres/fast_path.h"

/* The user's share of the limit. */
static bool take_limit(struct session *session, struct order *order, const struct product_row *row)
{
    if (row->limit_per_user == NO_LIMIT)
        return true;
    /* It is rolled back where the limit does not allow it. */
    if (!purchase_run(session, order, SQL_PURCHASE_ADD,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(order->user_id),
                              pg_int8(row->epoch), pg_int8(order->quantity),
                              pg_int8(row->limit_per_user)),
                      session->work_until_us))
        return false;
    if (pg_rows(session->pg) == 0)
        return purchase_withheld(session, order, "purchase");
    return pg_get_bool(session->pg, 0, 0) || purchase_refuse(session, order, ORDER_LIMIT_REACHED);
}

static struct pg_value hold_value(const struct order *order)
{
    return pg_time_or_null(order->hold_until_us != 0, order->hold_until_us);
}

/* Without a key the row either is written or an error ends the transaction, so COMMIT rides along.
 */
static enum pg_status insert_and_commit(struct session *session, const struct order *order,
                                        const struct product_row *row)
{
    const struct pg_value values[] = {pg_uuid(&order->id),        pg_int8(order->product_id),
                                      pg_int8(row->epoch),        pg_int8(order->user_id),
                                      pg_int8(order->quantity),   pg_text(order->strategy->name),
                                      pg_time(order->created_us), hold_value(order)};
    struct pg_command insert = {SQL_ORDER_INSERT, values, sizeof values / sizeof values[0]};

    return pg_exec_commit(session->pg, &insert, 1, session->work_until_us);
}

static enum pg_status insert_keyed(struct session *session, const struct order *order,
                                   const struct product_row *row)
{
    return pg_exec(session->pg, SQL_ORDER_INSERT_KEYED,
                   PG_ARGS(pg_uuid(&order->id), pg_int8(order->product_id), pg_int8(row->epoch),
                           pg_int8(order->user_id), pg_int8(order->quantity),
                           pg_text(order->strategy->name), pg_time(order->created_us),
                           pg_text(order->key), hold_value(order)),
                   session->work_until_us);
}

void purchase_finish(struct session *session, struct order *order, const struct product_row *row)
{
    fast_path_note_epoch(session->pg, order->product_id, row->epoch);
    session->has_row = true;
    purchase_hold(session, order, row);
    if (!purchase_may_commit(session, row)) {
        purchase_refuse(session, order, ORDER_RETRY);
        return;
    }
    if (!take_limit(session, order, row))
        return;
    if (order->key[0]) {
        purchase_end(session, order, insert_keyed(session, order, row));
        return;
    }
    enum pg_status status = insert_and_commit(session, order, row);
    if (status == PG_OK)
        purchase_confirm(order);
    else
        purchase_failed(session, order, status, true);
}

bool purchase_set_stock(struct session *session, struct order *order, const struct product_row *row,
                        int64_t stock)
{
    int64_t fence = session->hold.fence;
    const struct pg_value values[] = {pg_int8(order->product_id), pg_int8(row->epoch),
                                      pg_int8(stock), pg_int8(fence)};
    enum pg_status status = pg_exec(session->pg, fence ? SQL_STOCK_SET_FENCED : SQL_STOCK_SET,
                                    values, fence ? 4 : 3, session->work_until_us);

    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return false;
    }
    return pg_affected(session->pg) == 1 || purchase_overtaken(session, order, row->version);
}

/* Stock, order and COMMIT in one bundle: either both rows are written or neither. */
static void write_together(struct session *session, struct order *order,
                           const struct product_row *row)
{
    const struct pg_value values[] = {
        pg_uuid(&order->id),        pg_int8(order->product_id),
        pg_int8(row->epoch),        pg_int8(order->user_id),
        pg_int8(order->quantity),   pg_text(order->strategy->name),
        pg_time(order->created_us), pg_int8(session->hold.fence),
        hold_value(order),          pg_int8(row->stock - order->quantity)};
    const struct pg_command command = {SQL_ORDER_INSERT_SOLD, values,
                                       sizeof values / sizeof *values};
    enum pg_status status = pg_exec_commit(session->pg, &command, 1, session->work_until_us);

    if (status != PG_OK)
        purchase_failed(session, order, status, true);
    else if (pg_affected(session->pg) == 0)
        purchase_overtaken(session, order, row->version);
    else
        purchase_confirm(order);
}

void purchase_write(struct session *session, struct order *order, const struct product_row *row)
{
    bool together = !order->key[0] && row->limit_per_user == NO_LIMIT;

    if (together) {
        purchase_hold(session, order, row);
        write_together(session, order, row);
    } else if (purchase_set_stock(session, order, row, row->stock - order->quantity)) {
        purchase_finish(session, order, row);
    }
}
