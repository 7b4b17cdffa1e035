/* See fault.h: which strategies a column meets. */
#include "loadtest/faults/fault.h"

#include <string.h>

bool fault_locks_a_row(const struct api_strategy *strategy)
{
    return strcmp(strategy->name, "lock-row") == 0;
}

bool fault_needs_redis(const struct api_strategy *strategy)
{
    return api_needs(strategy, "redis") || api_needs(strategy, "stock-redis") ||
           api_needs(strategy, "redlock");
}
