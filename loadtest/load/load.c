/* See load.h. */
#include "loadtest/load/load.h"

#include <string.h>

const char *load_class_name(enum load_class class)
{
    static const char *const names[] = {"committed", "accepted", "refused", "failed"};
    return names[class];
}

static void raise_to(int64_t *most, int64_t one)
{
    if (one > *most)
        *most = one;
}

void load_add(struct load_result *sum, const struct load_result *one)
{
    struct latency_figures lag = sum->too_late ? sum->lag : one->lag;
    sum->duration_us += one->duration_us;
    sum->requests += one->requests;
    sum->not_2xx += one->not_2xx;
    sum->repeats += one->repeats;
    sum->abandoned += one->abandoned;
    raise_to(&sum->p50_us, one->p50_us);
    raise_to(&sum->p90_us, one->p90_us);
    raise_to(&sum->p99_us, one->p99_us);
    raise_to(&sum->max_us, one->max_us);
    sum->connect_errors += one->connect_errors;
    sum->read_errors += one->read_errors;
    sum->write_errors += one->write_errors;
    sum->timeouts += one->timeouts;
    sum->resold += one->resold;
    if (sum->sold_out_us == 0)
        sum->sold_out_us = one->sold_out_us;
    sum->usage = one->usage; /* where it matters there is one run */
    memcpy(sum->parts, one->parts, sizeof sum->parts);
    sum->parts_count = one->parts_count;
    sum->committed_in_time = one->committed_in_time;
    sum->lag = lag;
    sum->too_late = sum->too_late || one->too_late;
}
