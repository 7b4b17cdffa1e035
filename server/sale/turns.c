/* See turns.h. */
#include "sale/turns.h"

#include "base/clock.h"
#include "sale/purchase_cancel.h"
#include "sale/restock.h"

/* Of those that go one by one, beside a batch. */
enum { SHARE_US = 20000 };

bool purchase_decide(struct session *session, struct order *order)
{
    const struct strategy *strategy = order->strategy;

    if (order->kind == ORDER_BUY) {
        strategy->buy(session, order);
        return false;
    }
    if (session->early.marked) /* it is for buys alone */
        pg_commit_early(session->pg, false);
    bool added = order->kind == ORDER_RESTOCK
                     ? (strategy->restock ? strategy->restock : purchase_restock)(session, order)
                     : (strategy->cancel ? strategy->cancel : purchase_cancel)(session, order);
    if (session->early.marked)
        pg_commit_early(session->pg, true);
    return added;
}

void purchase_each(struct session *session, struct batch *batch)
{
    for (struct order *order = batch->orders; order; order = order->next) {
        if (order->outcome != ORDER_PENDING)
            continue;
        purchase_may_wait(session, order);
        purchase_decide(session, order);
    }
}

bool purchase_one_by_one(struct session *session, struct order **orders, int count)
{
    int64_t until_us = clock_mono_us() + SHARE_US;
    bool any = false;

    for (int i = 0; i < count && (i == 0 || clock_mono_us() < until_us); i++) {
        session_begin_work(session); /* what was before may have used its time, and lost it */
        pg_connect(session->pg, session->work_until_us);
        purchase_may_wait(session, orders[i]);
        any |= purchase_decide(session, orders[i]);
    }
    return any;
}

void purchase_split(const struct batch *batch, struct split *split)
{
    split->buy_count = split->change_count = 0;
    for (struct order *order = batch->orders; order; order = order->next)
        if (order->outcome != ORDER_PENDING)
            continue;
        else if (order->kind == ORDER_BUY && split->buy_count < SPLIT_MAX)
            split->buys[split->buy_count++] = order;
        else if (order->kind != ORDER_BUY && split->change_count < SPLIT_MAX)
            split->changes[split->change_count++] = order;
}
