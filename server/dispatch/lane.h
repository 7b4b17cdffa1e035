/*
 * A lane: the local queue of one strategy, and the rule of who may work on what at a time.
 *
 * Orders of one product stand in that product's mailbox, first in first out. A mailbox that has
 * orders waiting and fewer batches in flight than the rule allows is ready, beside a batch under
 * way when half as many orders wait; ready mailboxes are served in turn, so that a hot product does
 * not starve the others. A mailbox lives while it has orders waiting or in flight, no longer.
 * Nothing in here waits or does I/O: workers (worker.c) do.
 *
 * Bounds: a keyed lane holds `capacity` waiting orders per product (wllock's singleWaitThreshold),
 * any other lane `capacity` in all. An order that may not wait (wait_ms=0) is taken only if a
 * worker could begin it now.
 *
 * Thread rule: every function takes the lane's mutex itself. Lock order: nothing is locked under
 * it.
 */
#ifndef SECKILL_DISPATCH_LANE_H
#define SECKILL_DISPATCH_LANE_H

#include "order/order.h"
#include "strategy/strategy.h"

struct lane;
struct mailbox;

struct lane_counts {
    int waiting; /* orders in mailboxes */
    int working; /* orders in workers' hands */
    int workers; /* threads that serve the lane */
    int coming;  /* of these, on their way to lane_wait */
    int idle;    /* of these, asleep in it */
    int mailboxes;
};

/* `rule` is copied. NULL: out of memory. */
struct lane *lane_create(const struct lane_rule *rule, int capacity);
void lane_destroy(struct lane *lane); /* empty and without workers; NULL is allowed */

/* Takes the orders of the list in turn. Returns those it has no room for, their outcome set. */
struct order *lane_put(struct lane *lane, struct order *list);

/* Takes out every waiting order whose time is over at `now_us`, as QUEUE_TIMEOUT; as LOCK_TIMEOUT
 * what was returned to the lane because a lock is held. */
struct order *lane_expire(struct lane *lane, int64_t now_us);
/* Takes out every waiting order, with `outcome`. */
struct order *lane_flush(struct lane *lane, enum order_outcome outcome);

/* A worker's side. lane_wait blocks until there is a ready mailbox, and takes it: the caller now
 * has one batch in flight there. NULL: nothing came until `until_us`, or the lane was told to let
 * its workers go. */
struct mailbox *lane_wait(struct lane *lane, int64_t until_us);
/* Takes up to `max` more orders of the mailbox, oldest first. */
struct order *lane_take(struct lane *lane, struct mailbox *mailbox, int max, int *count);
/* Gives back an order that has just been taken and not been begun; it is the first again. */
void lane_give_back(struct lane *lane, struct mailbox *mailbox, struct order *order);
/* Who has taken all that he will: another batch may begin with what is left, and a worker is woken
 * for it. Said once of every batch, be it empty, before it is left. */
void lane_offer(struct lane *lane, struct mailbox *mailbox);
/* `count` orders taken from the mailbox are decided. Said before anybody hears of it: then an order
 * that may not wait, and comes because of it, is not turned away. */
void lane_done(struct lane *lane, struct mailbox *mailbox, int count);
/* Puts orders that were taken back behind those that wait. */
void lane_return(struct lane *lane, struct mailbox *mailbox, struct order *list);
/* The batch is over; the mailbox may be gone afterwards. The caller goes on to lane_wait or to
 * lane_worker_leaves, because what has waited for the batch to end is its own to take. */
void lane_leave(struct lane *lane, struct mailbox *mailbox);

/* How many workers could be of use now and are missing; who is on the way is not missing. */
int lane_wants(struct lane *lane);
/* False: nobody more is wanted. Else the caller goes on to lane_wait, or leaves again. */
bool lane_worker_joins(struct lane *lane);
/* False when work has come in the meantime and the worker must stay. `force` leaves all the same,
 * and the lane may then want somebody. */
bool lane_worker_leaves(struct lane *lane, bool force);
/* Lets every idle worker return from lane_wait; from now on too, if `for_good`. */
void lane_wake(struct lane *lane, bool for_good);
bool lane_is_closing(struct lane *lane); /* it was woken for good */

struct lane_counts lane_counts(struct lane *lane);
int64_t mailbox_product(const struct mailbox *mailbox); /* 0: of all products */

#endif
