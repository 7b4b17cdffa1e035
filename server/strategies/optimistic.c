/*
 * optimistic: read the row and its version; UPDATE … WHERE version = <the one that was read>, with
 * the order's INSERT in the same statement where nothing stands between them.
 *
 * If anybody wrote in between the version differs, the UPDATE matches no row and the whole attempt
 * is made again, decided anew, after a random pause, inside the order's time and a cap; then the
 * answer is cas_exhausted, never "sold out". It cannot oversell: the figure is written only over
 * the row it came from.
 *
 * The version, not the stock itself, is compared: after a restock the stock can be back at an old
 * figure while its history is not (ABA). Seed 000 says that the loop ends within three turns. Under
 * contention it does not: somebody always wins, but nobody's turns are bounded, which is why one
 * instance's lane lets only one order of a product try at a time, and why attempts are counted.
 */
#include "sale/purchase_write.h"
#include "strategies/strategies.h"

/* One statement writes the order and commits. An order with wait_ms=0 does not: its wait for the
 * row ends so soon that the commit would be in doubt. */
static bool writes_at_once(const struct order *order, const struct product_row *row)
{
    return !order->key[0] && !order->hold_until_us && !order->no_wait &&
           row->limit_per_user == NO_LIMIT;
}

static void write_at_once(struct session *session, struct order *order,
                          const struct product_row *row)
{
    if (!purchase_at_once(session, order, SQL_OPTIMISTIC_BUY, row->epoch,
                          PG_ARGS(pg_int8(row->version), pg_int8(row->stock - order->quantity))))
        purchase_missed(session, order, row->version, "product");
}

static void write_in_steps(struct session *session, struct order *order,
                           const struct product_row *row)
{
    pg_begin(session->pg);
    if (!purchase_run(session, order, SQL_STOCK_SET_IF_VERSION,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(row->epoch),
                              pg_int8(row->stock - order->quantity), pg_int8(row->version)),
                      purchase_row_deadline(session, order)))
        return;
    if (pg_affected(session->pg) == 0)
        purchase_missed(session, order, row->version, "product");
    else
        purchase_finish(session, order, row);
}

static void optimistic_buy(struct session *session, struct order *order)
{
    struct product_row row;

    if (!purchase_read(session, order, SQL_PRODUCT_READ, session->work_until_us, &row) ||
        !purchase_allowed(session, order, &row))
        return;
    session_work_pause(session);
    purchase_hold(session, order, &row);
    if (writes_at_once(order, &row))
        write_at_once(session, order, &row);
    else
        write_in_steps(session, order, &row);
}

const struct strategy strategy_optimistic = {
    .name = "optimistic",
    .summary = "Compare-and-set on the row's version; on a lost race the attempt is made again.",
    .summary_zh = "乐观锁：按版本号比较并更新，失败则重试",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    .lane = {.in_flight_per_product = 1, .workers = 16, .max_batch = 1},
    .buy = optimistic_buy,
};
