/*
 * A lane: the queue of one strategy in this instance, and the rule of how many batches of a product
 * are worked on at a time. Nothing in here does I/O; workers (worker.c) wait here and take orders.
 *
 * Orders of one product stand in that product's mailbox, first in, first out. Ready mailboxes are
 * served in turn, so that a hot product does not starve the others. A mailbox exists while it has
 * orders that wait or are worked on.
 *
 * States of a mailbox:
 *
 *   state     what it has                              what ends it
 *   absent    nothing                                  lane_put
 *   ready     orders waiting, and room for a batch     lane_wait: a worker takes the mailbox
 *   forming   a worker that takes orders for a batch   lane_offer: the batch is full
 *   busy      as many batches as the rule allows, or   lane_leave: a batch is over
 *             too few orders for another batch
 *
 * Happy path of a worker: lane_wait, lane_take, lane_offer (the batch is full), lane_done (some
 * orders are decided), lane_leave (the batch is over).
 *
 * Failure modes:
 * - The lane is full: lane_put returns the order as QUEUE_FULL. A keyed lane holds `capacity`
 *   waiting orders per product (wllock's singleWaitThreshold), any other lane `capacity` in all.
 * - An order with wait_ms=0 finds no worker that could begin it now: QUEUE_TIMEOUT.
 * - An order waits longer than it may: lane_expire takes it out.
 * - The server stops: lane_flush takes all out, lane_wake lets the workers go.
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
    int coming;  /* of the workers, those about to call lane_wait */
    int idle;    /* of the workers, those asleep in lane_wait */
    int mailboxes;
};

/* `rule` is copied. NULL: out of memory. */
struct lane *lane_create(const struct lane_rule *rule, int capacity);
void lane_destroy(struct lane *lane); /* empty and without workers; NULL is allowed */

/* Takes the orders of the list in turn. Returns those it has no room for, their outcome set. */
struct order *lane_put(struct lane *lane, struct order *list);

/* Takes out every waiting order whose time is over at `now_us`: as QUEUE_TIMEOUT, or as
 * LOCK_TIMEOUT if it was returned to the lane because a lock was held. */
struct order *lane_expire(struct lane *lane, int64_t now_us);
/* Takes out every waiting order, with `outcome`. */
struct order *lane_flush(struct lane *lane, enum order_outcome outcome);

/* A worker's side. lane_wait blocks until there is a ready mailbox, and takes it: the caller now
 * has one batch in flight there. NULL: nothing came until `until_us`, or the lane was told to let
 * its workers go. */
struct mailbox *lane_wait(struct lane *lane, int64_t until_us);
/* Takes up to `max` more orders of the mailbox, oldest first. */
struct order *lane_take(struct lane *lane, struct mailbox *mailbox, int max, int *count);
/* Returns an order that was taken and not begun; it is the mailbox's first again. */
void lane_give_back(struct lane *lane, struct mailbox *mailbox, struct order *order);
/* The worker has taken all the orders of its batch. Another batch may begin with the orders that
 * are left, and a worker is woken for it. Call it once for every batch, also for an empty one,
 * before lane_leave. */
void lane_offer(struct lane *lane, struct mailbox *mailbox);
/* `count` orders of the batch are decided. Call it before their replies are sent: a client that
 * sends an order with wait_ms=0 after its reply must find the worker free. */
void lane_done(struct lane *lane, struct mailbox *mailbox, int count);
/* Returns orders of the batch to the mailbox, behind those that wait. */
void lane_return(struct lane *lane, struct mailbox *mailbox, struct order *list);
/* The batch is over; the mailbox may be freed. The caller must go on to lane_wait or to
 * lane_worker_leaves: nobody else is woken for the orders that waited for the batch's end. */
void lane_leave(struct lane *lane, struct mailbox *mailbox);

/* How many more workers the lane could use now; those that are about to call lane_wait count. */
int lane_missing_workers(struct lane *lane);
/* False: the lane needs no other worker. Else the caller goes on to lane_wait, or leaves again. */
bool lane_worker_joins(struct lane *lane);
/* False when work has come in the meantime and the worker must stay. With `force` it leaves all the
 * same, and the lane may then miss a worker. */
bool lane_worker_leaves(struct lane *lane, bool force);
/* Makes every idle worker return from lane_wait; with `for_good` also those that call it later. */
void lane_wake(struct lane *lane, bool for_good);
bool lane_is_closing(struct lane *lane); /* it was woken for good */

struct lane_counts lane_counts(struct lane *lane);
int64_t mailbox_product(const struct mailbox *mailbox); /* 0: of all products */

#endif
