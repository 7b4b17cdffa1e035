/* See breaker.h. */
#include "base/connect/breaker.h"

#include "base/clock.h"
#include "base/random/random.h"

enum { OPEN_US = 250000 };

bool breaker_is_open(const struct breaker *breaker)
{
    return clock_mono_us() < atomic_load_explicit(&breaker->open_until_us, memory_order_relaxed);
}

void breaker_close(struct breaker *breaker)
{
    atomic_store_explicit(&breaker->worked_us, clock_mono_us(), memory_order_relaxed);
    atomic_store_explicit(&breaker->open_until_us, 0, memory_order_relaxed);
}

bool breaker_counts(const struct breaker *breaker, int64_t begun_us, int64_t until_us,
                    int64_t least_us)
{
    bool had_time = clock_mono_us() < until_us || until_us - begun_us >= least_us;

    return had_time && begun_us >= atomic_load_explicit(&breaker->worked_us, memory_order_relaxed);
}

bool breaker_trip(struct breaker *breaker, int64_t begun_us, int64_t until_us, int64_t least_us)
{
    if (!breaker_counts(breaker, begun_us, until_us, least_us))
        return false;
    atomic_store_explicit(&breaker->open_until_us,
                          clock_mono_us() + OPEN_US + (int64_t)random_below(OPEN_US / 4),
                          memory_order_relaxed);
    return true;
}
