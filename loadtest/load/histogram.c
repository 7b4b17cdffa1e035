#include "loadtest/load/histogram.h"

enum { LINEAR_BITS = 4 }; /* log2 of HISTOGRAM_STEPS_PER_POWER */

size_t histogram_step(int64_t us)
{
    /* One less, so that a power of two ends a step instead of beginning the next. */
    uint64_t value = us <= 1 ? 0 : (uint64_t)us - 1;
    if (value < HISTOGRAM_STEPS_PER_POWER)
        return (size_t)value;

    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    size_t within = (size_t)(value >> (power - LINEAR_BITS)) % HISTOGRAM_STEPS_PER_POWER;
    size_t step = (size_t)(power - LINEAR_BITS + 1) * HISTOGRAM_STEPS_PER_POWER + within;
    return step < HISTOGRAM_STEPS - 1 ? step : HISTOGRAM_STEPS - 1;
}

int64_t histogram_step_end(size_t step)
{
    if (step >= HISTOGRAM_STEPS - 1)
        return INT64_MAX;
    if (step < HISTOGRAM_STEPS_PER_POWER)
        return (int64_t)step + 1;

    size_t row = step / HISTOGRAM_STEPS_PER_POWER;
    size_t within = step % HISTOGRAM_STEPS_PER_POWER;
    return (int64_t)(HISTOGRAM_STEPS_PER_POWER + within + 1) << (row - 1);
}
