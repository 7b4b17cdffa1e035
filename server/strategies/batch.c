/*
 * batch: one worker for all products; whatever waits is one transaction, one flush.
 *
 * While the worker commits, orders queue up; up to 500 of them, of any products, are the next
 * batch. No timer delays anybody. Orders of one product alone are one statement, if that fits them.
 * Else combine.c locks the products' rows in id order in a statement of its own, decides in arrival
 * order whether each fits, limits and keys checked, and writes all of them at once; each buyer gets
 * their own 201, after the COMMIT.
 *
 * It cannot oversell: the rows are locked before they are read, until the commit, so it is
 * `pessimistic` for 500 orders at a time. With several instances their batches take turns on the
 * rows they share. Several orders of one user are added up; one that repeats the Idempotency-Key of
 * another in its batch gets that one's result. An error other than a lost COMMIT halves the batch
 * until the guilty order is alone. A crash loses nothing that was answered.
 *
 * Cancels and restocks go one by one, by `conditional`'s statements, after the buys and for as long
 * as their share of time lasts; those that are left come with a later batch, so that however many
 * they are they do not eat the buys' time. An order that may not wait (wait_ms=0) goes alone too,
 * first, with NOWAIT: it must not stand behind a row that somebody else's order in the batch waits
 * for.
 *
 * Source: group commit, one level up (DeWitt et al., "Implementation Techniques for Main Memory
 * Database Systems", SIGMOD 1984). One transaction a product instead was 9 times slower over 100
 * products.
 */
#include "sale/body/body_guarded.h"
#include "sale/decide_many/combine.h"
#include "sale/turns.h"
#include "strategies/strategies.h"

static void batch_sell(struct session *session, struct batch *batch)
{
    struct split split;

    for (struct order *order = batch->orders; order; order = order->next)
        if (order->no_wait)
            purchase_one_by_one(session, &order, 1);
    purchase_split(batch, &split);
    split.buy_count = combine_look(session, split.buys, split.buy_count);
    combine_buys(session, split.buys, split.buy_count, 0);
    purchase_one_by_one(session, split.changes, split.change_count);
}

const struct strategy strategy_batch = {
    .name = "batch",
    .usual = true,
    .summary = "One worker merges up to 500 waiting orders of all products into one transaction.",
    .summary_zh = "合并：一个工作线程把至多 500 个排队的订单（不限商品）放进一个事务",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    .shared_flush = true,
    .lane = {.in_flight_per_product = 1,
             .keyed = true,
             .all_products = true,
             .workers = 1,
             .max_batch = COMBINE_MAX},
    .buy = body_guarded, /* one that goes alone */
    .sell = batch_sell,
};
