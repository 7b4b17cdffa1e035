/*
 * What becomes of claims, inside the writer's transaction: between its locks and its first write
 * (decide_many.h). A claim's fate is true where its order is DECIDED.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_DECIDE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_DECIDE_H

#include "sale/decide_many/decide_many.h"
#include "strategies/redis_stock/writer/stock_claim.h"

/* The decision's context. */
struct stock_work {
    struct stock_link *link; /* borrowed */
    struct claim *claims;    /* borrowed */
    bool lost;               /* they are in Redis no longer: what has no row has failed */
};

/* The decider's `known`, `judge` and `bury`. */
enum pg_status stock_decide_known(struct decision *decision);
void stock_decide_one(struct decision *decision, int i);
void stock_decide_unwritable(struct decision *decision, int i);

#endif
