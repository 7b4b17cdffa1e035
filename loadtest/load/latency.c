/* See latency.h. */
#include "loadtest/load/latency.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void latency_write(FILE *to, const struct latency *latency)
{
    const char *blank = "";
    for (size_t i = 0; i < HISTOGRAM_STEPS; i++) {
        int64_t end_us = histogram_step_end(i);
        if (latency->steps[i] == 0)
            continue;
        fprintf(to, "%s%" PRId64 ":%" PRId64, blank,
                end_us < latency->max_us ? end_us : latency->max_us, latency->steps[i]);
        blank = " ";
    }
}

/* A whole number of at most 15 digits, so that sums of them stay numbers. NULL: there is none. */
static const char *read_number(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 15)
        return NULL;
    *out = strtoll(text, NULL, 10);
    return text + digits;
}

bool latency_parse(const char *text, struct latency *out)
{
    while (*text) {
        int64_t us = 0, count = 0;
        const char *colon = read_number(text, &us);
        const char *end = colon && *colon == ':' ? read_number(colon + 1, &count) : NULL;
        if (!end || (*end != ' ' && *end != '\0') || out->count > INT64_MAX / 2)
            return false;
        out->steps[histogram_step(us)] += count;
        out->count += count;
        if (us > out->max_us)
            out->max_us = us;
        text = end + (*end == ' ');
    }
    return true;
}
