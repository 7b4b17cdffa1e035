/*
 * redis-stock: memory decides, PostgreSQL has the last word.
 *
 * The stock is mirrored in Redis (stock_mirror.h). A worker takes up to 500 orders of a product,
 * and has one script reserve stock for all of them and append them to a stream (stock_reserve.h);
 * each gets 202. The instance's writer, to whom they are handed over (stock_handover.h), writes
 * them in batches (stock_writer.h): insert, stock, limits, commit, and only then XACK; the writers
 * are a consumer group, and take over what one of them leaves. GET /orders/ID looks in PostgreSQL,
 * then in Redis (stock_external_state.c). A Redis is one database's (stock_lease.h).
 *
 * It cannot oversell, whatever Redis says: the writer takes stock with a guarded statement under
 * the row's lock. A Redis that is wrong costs 202s that end `failed`, and the mirror is unloaded.
 * What it loses unwritten is lost, and said (stock_lost.h): no promise F without stock_replicas.h.
 *
 * A refusal costs less than a sale: stock_flag.h answers "sold out" without a lane for 20 ms after
 * a script has said so. A restock or a cancel goes to PostgreSQL first, corrects the mirror (which
 * it waits for as for a lost COMMIT; then: stock_mend.h), and waits that long before it answers.
 *
 * Sources: Redis documentation, "Redis Streams", "Scripting with Lua", "Redis persistence".
 */
#include "sale/purchase_cancel.h"
#include "sale/restock.h"
#include "sale/turns.h"
#include "strategies/redis_stock/mirror/stock_external_state.h"
#include "strategies/redis_stock/mirror/stock_reconcile.h"
#include "strategies/redis_stock/reserve/stock_reserve.h"
#include "strategies/redis_stock/stock_instance.h"
#include "strategies/redis_stock/stock_start.h"
#include "strategies/strategies.h"

/* It has a lost COMMIT, or finds it done already by somebody who may have died before it corrected
 * the mirror. */
static bool may_have_changed(struct stock_link *link, const struct order *order)
{
    if (order->outcome == order_returned_outcome(order->kind) || order->outcome == ORDER_KEY_TAKEN)
        return !stock_reconcile_agrees(link, order->product_id);
    return order->outcome == ORDER_UNSETTLED;
}

/* `change_row`, true if it added stock; then the mirror. Whether a lease is to be waited out. */
static bool change(struct session *session, struct order *order,
                   bool (*change_row)(struct session *, struct order *))
{
    struct redis_stock *stock = session->instance;
    struct stock_link link = stock_link_of(session, order->product_id);
    char generation[STOCK_GENERATION_MAX];

    if (stock_mirror_generation(&link, order->product_id, generation) != STOCK_DONE) {
        order->outcome = ORDER_BACKEND_UNAVAILABLE; /* before anything was done */
        return false;
    }
    bool changed = change_row(session, order);
    if (!changed && !may_have_changed(&link, order))
        return false;
    /* A load of the mirror waits for the row, and so for a commit that is not settled. */
    if (!changed)
        *generation = '\0';
    if (stock_mirror_correct(&link, order->product_id, generation, order->quantity,
                             order->user_id) != STOCK_DONE &&
        stock_mirror_forget_late(&link, order->product_id, order->settle_until_us) != STOCK_DONE)
        stock_mend_ask(&stock_work_of(stock, order->product_id)->mend,
                       order->product_id); /* it shows too little until then */
    return true;
}

static bool cancel(struct session *session, struct order *order)
{
    return change(session, order, purchase_cancel);
}

static bool restock(struct session *session, struct order *order)
{
    return change(session, order, purchase_restock);
}

static void redis_stock_sell(struct session *session, struct batch *batch)
{
    struct split split;

    purchase_split(batch, &split);
    if (split.buy_count > 0)
        stock_reserve(session, split.buys, split.buy_count);
    if (purchase_one_by_one(session, split.changes, split.change_count))
        stock_flag_wait();
}

static bool refuse_now(void *instance, struct order *order)
{
    return stock_flag_refuses(&((struct redis_stock *)instance)->flag, order);
}

static void *start(const struct services *services, struct error *error)
{
    return stock_start(services, &strategy_redis_stock, error);
}

static void stop(void *instance)
{
    stock_stop(instance);
}

const struct strategy strategy_redis_stock = {
    .name = "redis-stock",
    .usual = true,
    .summary = "Redis reserves in batches and answers 202; a writer brings it into PostgreSQL.",
    .summary_zh = "预减库存：Redis 成批预留并答复 202，写入者随后落库 PostgreSQL",
    .family = FAMILY_QUEUE,
    .needs = NEED_POSTGRESQL | NEED_STOCK_REDIS,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED,
    .with_replicas = GUARANTEE_FORGETS,
    .asynchronous = true,
    .mixes = true,
    .lane = {.in_flight_per_product = 1, .streamed = true, .workers = 8, .max_batch = RESERVE_MAX},
    .sessions = 1,
    .cancel = cancel,
    .restock = restock,
    .sell = redis_stock_sell,
    .refuse_now = refuse_now,
    .external_state = &stock_external_state,
    .start = start,
    .stop = stop,
};
