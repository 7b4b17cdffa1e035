/*
 * Buyers who have yet to pay: each buys one unit with a hold of a second, and then pays at once, or
 * when the hold ends, or never.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_UNPAID_UNPAID_CROWD_H
#define SECKILL_LOADTEST_COMMANDS_UNPAID_UNPAID_CROWD_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { UNPAID_BUYERS_MAX = 256, UNPAID_HOLD_S = 1, UNPAID_TICK_MS = 50 };

struct unpaid_plan {
    const char *const *targets; /* borrowed: http://HOST:PORT; buyers in turn */
    size_t targets_count;
    int64_t buyers; /* UNPAID_BUYERS_MAX at the most */
    int64_t product;
    const char *strategy; /* borrowed */
    const char *query;    /* borrowed: what else stands in the target, "&wait_ms=5" */
    int64_t seed;
    int64_t duration_us; /* nobody buys after that; who holds an order still pays */
    /* Every UNPAID_TICK_MS while they are there. False ends it. */
    bool (*tick)(void *context, struct error *error);
    void *context;
};

/* What they were told, added up. */
struct unpaid_tally {
    int64_t bought;  /* 201s and 202s */
    int64_t refused; /* 409s to a buy */
    int64_t paid;
    int64_t expired;   /* payments that came too late */
    int64_t abandoned; /* orders that nobody has tried to pay */
    int64_t failed;    /* 503s: nothing was done */
    int64_t unknown;   /* 504s and answers that did not come */
    int64_t odd;       /* answers that make no sense */
};

/* Until what they have begun is over. False with the error: the buyers could not connect, were
 * interrupted, or the tick ended it. */
bool unpaid_crowd_run(const struct unpaid_plan *plan, struct unpaid_tally *tally,
                      struct error *error);

#endif
