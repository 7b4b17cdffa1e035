/*
 * The crowd of a great sale: so many buyers at once, each with a connection of its own and a second
 * one to press the button twice, until every night is gone, and for a while longer, when all who
 * come are refused.
 *
 * Happy path: a buyer arrives as soon as another has gone. Failure modes: an answer that does not
 * come is asked for again of the next server, and one that says that nothing was done of the same,
 * both with the same key; when no server has answered for longer than an order may take, the run
 * ends.
 */
#ifndef SECKILL_LOADTEST_CROWD_CROWD_H
#define SECKILL_LOADTEST_CROWD_CROWD_H

#include "base/error.h"
#include "loadtest/crowd/buyer.h"

struct crowd_plan {
    const char *const *targets; /* borrowed: http://HOST:PORT; buyers in turn */
    size_t targets_count;
    int64_t buyers; /* at once */
    int64_t late;   /* come when all is gone */
    int64_t seed;
    const char *strategy, *query; /* borrowed: as buyer_ask takes them */
    /* About four times a second. False with the error: there is no going on. */
    bool (*tick)(void *context, const struct crowd_tally *tally, struct error *error);
    void *context;
};

/* False when nobody listens, it was interrupted, or the tick said so; the tally and the hall have
 * then what was sold so far. */
bool crowd_run(const struct crowd_plan *plan, struct hall *hall, struct crowd_tally *tally,
               struct error *error);

#endif
