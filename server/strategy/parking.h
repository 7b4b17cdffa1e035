/*
 * Parking: the orders that a strategy has passed on, and whose decisions come later. No thread is
 * held while an order is parked.
 *
 * Happy path: `sell` parks an order before it sends it off, and no longer owns it from then on. A
 * thread that learns of the decision takes the order, sets its outcome, and calls parking_complete,
 * which leads to dispatch's one completion. A repeat of a key whose order is queued waits for the
 * same decision: it is parked as REPLAYED, with the order's record, under the order's id.
 *
 * Failure modes:
 * - An order's wait ends first: dispatch's janitor calls parking_expire. A buy is ACCEPTED (its row
 *   is in PostgreSQL), a repeat stays REPLAYED. A cancel or a restock is overdue: a thread of the
 *   strategy, which has a PostgreSQL session, takes it and finds out what became of it.
 * - The server stops: parking_close ends all of them.
 *
 * Thread rule: every function takes the mutex itself; the completion is called without it.
 */
#ifndef SECKILL_STRATEGY_PARKING_H
#define SECKILL_STRATEGY_PARKING_H

#include "order/order.h"

struct parking;

struct parking *parking_create(int capacity);
void parking_destroy(struct parking *parking); /* closed or never opened; NULL is allowed */

/* Dispatch's side. Closing ends what still waits (buys as ACCEPTED, others as OUTCOME_UNKNOWN), and
 * waits for orders that have been taken out and not completed. */
void parking_open(struct parking *parking, void (*complete)(void *context, struct order *list),
                  void *context);
void parking_expire(struct parking *parking, int64_t now_us);
void parking_close(struct parking *parking);

/* A strategy's side. */
bool parking_has_room(struct parking *parking, int count);
void parking_put(struct parking *parking, struct order *list);
/* The id that a parked order waits for. */
const struct uuid *parking_id(const struct order *order);
/* The order of this kind and id; NULL when it is not here (any more). */
struct order *parking_take(struct parking *parking, enum order_kind kind, const struct uuid *id);
/* One that was taken, and of which a thread with a PostgreSQL session is to find out more. */
void parking_put_overdue(struct parking *parking, struct order *order);
/* Those, and cancels, expiries and restocks that are overdue; waits for one until `until_us`. */
struct order *parking_take_overdue(struct parking *parking, int64_t until_us);
/* Every order that was taken ends here, its outcome set; NULL is an empty list. */
void parking_complete(struct parking *parking, struct order *list);
/* `count` orders that were taken go back to `sell`'s batch instead of being completed. */
void parking_return(struct parking *parking, int count);

/* Gives a buy whose wait is over its outcome, ACCEPTED. */
void parking_accept(struct order *order);

int64_t parking_count(struct parking *parking);

#endif
