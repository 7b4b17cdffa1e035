/*
 * The orders of a batch, in turn: who decides each of them, and for how long that goes on.
 *
 * Orders that are not begun when the time is over stay PENDING and come with a later batch.
 */
#ifndef SECKILL_SALE_TURNS_H
#define SECKILL_SALE_TURNS_H

#include "sale/purchase.h"

/* Decides one order by the member of its strategy that is for it, or the usual one. Whether units
 * may have been added to the stock. */
bool purchase_decide(struct session *session, struct order *order);

/* The usual `sell`: decides each order of the batch that is still pending, in turn. */
void purchase_each(struct session *session, struct batch *batch);

/* The pending orders of a batch whose buys are decided together; changes are cancels, expiries and
 * restocks. */
enum { SPLIT_MAX = 500 };
struct split {
    struct order *buys[SPLIT_MAX];
    struct order *changes[SPLIT_MAX];
    int buy_count;
    int change_count;
};
void purchase_split(const struct batch *batch, struct split *split);

/* Decides orders of a batch that go one by one, in turn: the first in any case, and others while
 * their share of time lasts. Those that are left are not begun: PENDING, they come with a later
 * batch, behind what has queued meanwhile. Whether purchase_decide was true of any. */
bool purchase_one_by_one(struct session *session, struct order **orders, int count);

#endif
