/* What a sweep varies: the dimensions by name, and reading --over and --set. Pure, for tests. */
#ifndef SECKILL_LOADTEST_COMMANDS_SWEEP_H
#define SECKILL_LOADTEST_COMMANDS_SWEEP_H

#include "loadtest/commands/line/command_line.h"

enum sweep_dimension {
    SWEEP_IN_FLIGHT,
    SWEEP_PG_SESSIONS,
    SWEEP_MAX_BATCH,
    SWEEP_CONNECTIONS,
    SWEEP_WORK_MS,
    SWEEP_INSTANCES,
    SWEEP_REDIS_DELAY_US,
    SWEEP_DIMENSIONS
};

struct sweep_plan {
    enum sweep_dimension over;
    size_t count;
    int64_t values[OPTION_LIST_MAX];
    bool delayed; /* Redis stands behind a delay, if one of 0 */
};

/* Reads --over, and puts what --set says into the options. */
bool sweep_plan_read(struct sweep_plan *plan, struct sweep_options *options, struct error *error);

/* Puts a value of the dimension into the options. */
void sweep_apply(struct sweep_options *options, enum sweep_dimension dimension, int64_t value);

#endif
