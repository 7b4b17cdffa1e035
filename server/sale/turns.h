/*
 * The orders of a batch, in turn: who decides each of them, and for how long the batch goes on.
 *
 * Orders that are not begun when the time is over stay PENDING and come with a later batch.
 */
#ifndef SECKILL_SALE_TURNS_H
#define SECKILL_SALE_TURNS_H

#include "sale/purchase.h"

/* The most orders of a pipelined batch. One session makes them one after the other, each in its own
 * transaction; PostgreSQL begins the next one without waiting for this process. Between two batches
 * PostgreSQL waits for this process, which takes long on a busy machine. Up to 32 orders, or as
 * many as begin within drive.c's PIPELINE_US, make that wait a small part of the whole. */
enum { PIPELINE_ORDERS_MAX = 32 };

/* Decides one order by the member of its strategy that is for it, or the usual one. Whether units
 * may have been added to the stock. */
bool purchase_decide(struct session *session, struct order *order);

/* The usual `sell`: decides each order of the batch that is still pending, in turn; the first of
 * the batch in any case, others while the batch's time lasts (purchase_has_time). */
void purchase_each(struct session *session, struct batch *batch);

/* The pending orders of a batch whose buys are decided together; changes are cancels and restocks.
 */
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

/* Whether another order of a pipelined batch may begin: the batch's time is not over. */
bool purchase_has_time(const struct session *session);
/* An order of a pipelined batch is decided. From now on the orders behind it wait for a row no
 * longer than 0.2 s, because its answer is sent at the end of the batch. */
void purchase_limit_wait(struct session *session);

/* Puts the first statement of the order behind `after` into the pipeline, if that order may wait:
 * it reads the product's row, and travels with the last statement of `after`. Call it before that
 * last statement, once only the COMMIT can change what `statement` reads. */
void purchase_pipeline(struct session *session, const struct order *after, enum sql statement,
                       bool begins);

#endif
