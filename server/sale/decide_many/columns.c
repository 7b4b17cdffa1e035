/* See columns.h. Where all are confirmed, none is pending and nobody sent a key, nothing can
 * conflict, and the cheaper of the two INSERTs will do. */
#include "sale/decide_many/columns.h"

enum { SOLD_VALUES = 7 }; /* of the INSERTs' values, those that SQL_SOLD_INSERT takes */

void columns_init(struct order_columns *to)
{
    to->count = 0;
    to->units = 0;
    to->keyed = false;
    to->sold = true;
}

void columns_add(struct order_columns *to, const struct order_row *row)
{
    int n = to->count++;

    to->ids[n] = row->id;
    to->products[n] = row->product_id;
    to->epochs[n] = row->epoch;
    to->users[n] = row->user_id;
    to->quantities[n] = row->quantity;
    to->created[n] = row->created_us;
    to->keys[n] = row->key[0] && !row->reason ? row->key : NULL;
    to->statuses[n] = row->reason          ? STATUS_FAILED
                      : row->hold_until_us ? STATUS_PENDING
                                           : STATUS_CONFIRMED;
    to->holds[n] = row->reason ? COLUMNS_NO_HOLD : row->hold_until_us;
    to->reasons[n] = row->reason;
    to->units += row->quantity;
    to->keyed |= to->keys[n] != NULL;
    to->sold &= to->statuses[n] == STATUS_CONFIRMED;
}

void columns_add_order(struct order_columns *to, const struct order *order, int64_t epoch)
{
    columns_add(to, &(struct order_row){order->id, order->product_id, epoch, order->user_id,
                                        order->quantity, order->created_us, order->hold_until_us,
                                        order->key, NULL});
}

enum pg_status columns_commit(const struct order_columns *orders, struct tally *tally,
                              const char *strategy)
{
    int n = orders->count;
    bool plain = orders->sold && !orders->keyed;
    const struct pg_value values[] = {
        pg_text(strategy),
        pg_uuids(orders->ids, n),
        pg_int8s(orders->products, n),
        pg_int8s(orders->epochs, n),
        pg_int8s(orders->users, n),
        pg_int8s(orders->quantities, n),
        pg_times(orders->created, n),
        pg_texts(orders->keys, n),
        pg_int8s(orders->statuses, n),
        pg_texts(orders->reasons, n),
        pg_times(orders->holds, n),
    };
    const struct pg_command insert = {plain ? SQL_SOLD_INSERT : SQL_BATCH_INSERT, values,
                                      plain ? SOLD_VALUES : sizeof values / sizeof *values};

    return tally_commit(tally, &insert, n, orders->keyed);
}

enum pg_status columns_buy(const struct order_columns *orders, struct pg *pg, const char *strategy,
                           int64_t fence, int64_t until_us)
{
    int n = orders->count;

    return pg_exec(pg, SQL_BATCH_BUY,
                   PG_ARGS(pg_text(strategy), pg_int8(orders->products[0]), pg_int8(orders->units),
                           pg_int8(fence), pg_int8(orders->epochs[0]), pg_uuids(orders->ids, n),
                           pg_int8s(orders->users, n), pg_int8s(orders->quantities, n),
                           pg_times(orders->created, n)),
                   until_us);
}
