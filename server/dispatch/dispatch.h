/*
 * Dispatch: from the edge's thread to the workers' and back.
 *
 * Orders go to their strategy's lane (lane.h): bounded mailboxes in front of worker threads. Tasks
 * (reads and admin calls that need a PostgreSQL session but no strategy) go to small pools of their
 * own, one a kind. Whatever goes in comes out exactly once, decided, through the completion; an
 * order that finds no room comes out at once.
 *
 * Thread rule: submit from any thread; the completion is called from workers, from the janitor, and
 * from inside submit, and must not block.
 */
#ifndef SECKILL_DISPATCH_DISPATCH_H
#define SECKILL_DISPATCH_DISPATCH_H

#include "base/error.h"
#include "dispatch/task.h"
#include "order/order.h"
#include "strategy/strategy.h"

struct dispatch;

struct completion {
    void *context;
    void (*orders)(void *context, struct order *list);
    void (*task)(void *context, struct task *task);
};

struct dispatch *dispatch_create(const struct services *services, struct completion completion,
                                 struct error *error);

/* Takes every order of the list (one loop pass of the edge), each to the lane of its strategy. */
void dispatch_submit(struct dispatch *dispatch, struct order *list);

/* False, and the task is not taken, when its pool's queue is full or the server is stopping: then
 * only pages of metrics are made, and what is owed. */
bool dispatch_submit_task(struct dispatch *dispatch, struct task *task);

/* The strategies have started: from now on the holds of orders that nobody pays are ended. */
void dispatch_sweep(struct dispatch *dispatch);

/* A payment is answered: the order is CONFIRMED, EXPIRED or NOT_PAYABLE. */
void dispatch_count_payment(struct dispatch *dispatch, enum order_outcome outcome);

/* Orders and tasks inside. */
int64_t dispatch_in_flight(const struct dispatch *dispatch);

/* From now on orders are refused with SHUTTING_DOWN; what was taken before is finished. */
void dispatch_drain(struct dispatch *dispatch);

/* Gives back, as SHUTTING_DOWN, the orders that no worker has begun. */
void dispatch_flush(struct dispatch *dispatch);

/* Waits for the workers to finish what they hold and frees everything. NULL is allowed. */
void dispatch_destroy(struct dispatch *dispatch);

#endif
