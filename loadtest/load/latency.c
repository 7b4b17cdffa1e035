/* See latency.h. */
#include "loadtest/load/latency.h"

#include <math.h>

void latency_add(struct latency *latency, int64_t us)
{
    latency->steps[histogram_step(us)]++;
    latency->count++;
    if (us > latency->max_us)
        latency->max_us = us;
}

void latency_merge(struct latency *sum, const struct latency *one)
{
    for (size_t i = 0; i < HISTOGRAM_STEPS; i++)
        sum->steps[i] += one->steps[i];
    sum->count += one->count;
    if (one->max_us > sum->max_us)
        sum->max_us = one->max_us;
}

int64_t latency_quantile_us(const struct latency *latency, double share)
{
    int64_t wanted = (int64_t)ceil(share * (double)latency->count);
    int64_t seen = 0;
    for (size_t i = 0; i < HISTOGRAM_STEPS && wanted > 0; i++) {
        seen += latency->steps[i];
        if (seen >= wanted) {
            int64_t end_us = histogram_step_end(i);
            return end_us < latency->max_us ? end_us : latency->max_us;
        }
    }
    return 0;
}

struct latency_figures latency_read(const struct latency *latency)
{
    return (struct latency_figures){
        .count = latency->count,
        .p50_us = latency_quantile_us(latency, 0.5),
        .p90_us = latency_quantile_us(latency, 0.9),
        .p99_us = latency_quantile_us(latency, 0.99),
        .p999_us = latency_quantile_us(latency, 0.999),
        .max_us = latency->max_us,
    };
}
