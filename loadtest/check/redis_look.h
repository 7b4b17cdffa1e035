/*
 * What Redis holds of a ledger's products: redis-stock's mirrors, and locks that will never end.
 *
 * Happy path: waits, for at most some seconds, until nothing of the products is reserved, then
 * looks. A product that is not loaded, or of another sale, has no mirror. Failure modes: a Redis
 * that is out of reach, or does not answer in time, is an error; nothing is concluded from it.
 */
#ifndef SECKILL_LOADTEST_CHECK_REDIS_LOOK_H
#define SECKILL_LOADTEST_CHECK_REDIS_LOOK_H

#include "loadtest/check/rows.h"

struct redis_place {
    const char *locks; /* the locks' Redis, "": not looked at; redis://… or unix:///path */
    const char *stock; /* redis-stock's, "": the same */
    const char *system_name;
};

/* Adds to rows that rows_read has filled, or will; call it before, so that the rows are no older.
 */
bool redis_look(struct rows *out, const struct ledger *ledger, const struct redis_place *place,
                struct error *error);

#endif
