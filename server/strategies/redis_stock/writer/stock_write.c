/* See stock_write.h: one statement for the usual claims (at_once), decide_many.h's transaction for
 * others. What becomes of each says stock_decide.c. */
#include "strategies/redis_stock/writer/stock_write.h"

#include "base/failpoint.h"
#include "base/log.h"
#include "postgres/fast_path.h"
#include "sale/decide_many/columns.h"
#include "sale/decide_many/decide_many.h"
#include "sale/purchase.h"
#include "strategies/redis_stock/mirror/stock_mirror.h"
#include "strategies/redis_stock/writer/stock_decide.h"

static _Thread_local struct held held; /* the writer is one thread */

static bool begin(struct decision *decision)
{
    const struct stock_work *work = decision->context;
    struct stock_link *link = work->link;

    stock_give_time(link);
    decision->until_us = link->until_us;
    if (!pg_connect(link->pg, link->until_us))
        return false;
    if (!decision->burying)
        return true;
    struct claim *claim = &work->claims[decision->at[0]];
    return stock_mirror_generation(link, claim->order.product_id, claim->generation) == STOCK_DONE;
}

/* The rows of the claims that are decided, and have none. */
static void list_orders(const struct decision *decision, struct order_columns *to)
{
    const struct stock_work *work = decision->context;

    columns_init(to);
    for (int n = 0; n < decision->count; n++) {
        const struct claim *claim = &work->claims[decision->at[n]];
        const struct waiting_order *order = &claim->order;
        bool failed = claim->fate == CLAIM_REFUSED || claim->fate == CLAIM_POISON ||
                      claim->fate == CLAIM_LOST;
        if (decision->orders[decision->at[n]].state == DECIDE_DECIDED &&
            (failed || claim->fate == CLAIM_CONFIRMED))
            columns_add(to, &(struct order_row){order->id, order->product_id, order->epoch,
                                                order->user_id, order->quantity, order->created_us,
                                                claim->hold_until_us, order->key,
                                                failed ? claim->reason : NULL});
    }
}

/* A lost COMMIT needs no settling: the claims are written again, and those that are there are
 * known. */
static enum pg_status write_and_commit(struct decision *decision)
{
    const struct stock_work *work = decision->context;
    struct order_columns orders;
    enum pg_status status = tally_write_shares(&decision->tally);

    if (status != PG_OK)
        return status;
    list_orders(decision, &orders);
    FAILPOINT("stock-writer-committing");
    return columns_commit(&orders, &decision->tally, work->link->strategy);
}

/* Nobody had them, all are of one sale, and no order wants anything besides. */
static bool may_be_one_statement(const struct decision *decision)
{
    const struct stock_work *work = decision->context;
    const struct waiting_order *first = &work->claims[decision->at[0]].order;

    for (int n = 0; n < decision->count; n++) {
        const struct waiting_order *order = &work->claims[decision->at[n]].order;
        if (order->key[0] || purchase_asks_hold(work->link->settings, order->hold_s) ||
            order->product_id != first->product_id || order->epoch != first->epoch ||
            decision->orders[decision->at[n]].state != DECIDE_OPEN)
            return false;
    }
    return fast_path_fits(decision->pg, first->product_id) && !held_is(&held, first->product_id);
}

static void set_all(struct decision *decision, enum decide_state state)
{
    struct stock_work *work = decision->context;

    for (int n = 0; n < decision->count; n++) {
        work->claims[decision->at[n]].fate = CLAIM_CONFIRMED;
        work->claims[decision->at[n]].hold_until_us = 0;
        decision->orders[decision->at[n]].state = state;
    }
}

static enum pg_status at_once(struct decision *decision)
{
    const struct stock_work *work = decision->context;
    struct order_columns to;

    if (!may_be_one_statement(decision))
        return PG_OK;
    set_all(decision, DECIDE_DECIDED);
    list_orders(decision, &to);
    FAILPOINT("stock-writer-committing");
    enum pg_status status =
        columns_buy(&to, decision->pg, work->link->strategy, 0, decision->until_us);
    if (status != PG_OK || pg_affected(decision->pg) == 0)
        set_all(decision, DECIDE_OPEN);
    return status;
}

static const struct decider writer = {
    .name = "redis-stock",
    .refusals_max = 3,
    .troubles_max = 24, /* it takes that many to find two orders of a thousand */
    .begin = begin,
    .at_once = at_once,
    .known = stock_decide_known,
    .judge = stock_decide_one,
    .bury = stock_decide_unwritable,
    .write = write_and_commit,
};

static bool write_all(struct stock_link *link, struct claim *claims, int count, bool fresh,
                      bool lost)
{
    static _Thread_local struct decision decision;
    static const enum claim_fate fates[] = {
        [DECIDE_OPEN] = CLAIM_OPEN, [DECIDE_HELD] = CLAIM_HELD, [DECIDE_LOCKED] = CLAIM_LOCKED};
    struct stock_work work = {link, claims, lost};

    decide_init(&decision, &writer, &work, link->pg, &held);
    decision.fresh = fresh;
    for (int i = 0; i < count; i++) {
        const struct waiting_order *order = &claims[i].order;
        decide_add(&decision, &order->id, order->product_id, order->user_id, order->quantity);
    }
    bool done = decide_many(&decision);
    bool proven = pg_prove(link->pg, link->until_us) == PG_OK;
    for (int i = 0; i < count; i++)
        if (decision.orders[i].state != DECIDE_DECIDED)
            claims[i].fate = fates[decision.orders[i].state];
        else if (!proven)
            claims[i].fate = CLAIM_OPEN;
    if (decision.troubles > 0)
        log_warn("redis-stock: %s", decision.trouble.text);
    return done && proven;
}

bool stock_write(struct stock_link *link, struct claim *claims, int count, bool fresh)
{
    return write_all(link, claims, count, fresh, false);
}

bool stock_write_lost(struct stock_link *link, struct claim *claims, int count)
{
    return write_all(link, claims, count, false, true);
}

bool stock_write_finds_free(struct stock_link *link, const int64_t *products, int count)
{
    stock_give_time(link);
    return pg_connect(link->pg, link->until_us) &&
           held_find_free(&held, link->pg, products, count, link->until_us) > 0;
}
