/* See phase.h: the figures that tables and files share. */
#include "loadtest/phase/phase.h"

#include <string.h>

const char *phase_name(enum phase_kind kind)
{
    static const char *const names[] = {"speed", "truth", "load", "counted"};
    return names[kind];
}

struct promise phase_promise(const struct phase_result *result)
{
    return promise_with(&result->plan.strategy->promise, strcmp(result->plan.body, "guarded") == 0);
}

double phase_per_s(const struct phase_result *result, int64_t count)
{
    return result->load.duration_us > 0 ? (double)count * 1e6 / (double)result->load.duration_us
                                        : 0;
}

int64_t phase_committed(const struct phase_result *result)
{
    return result->counts.accepted > 0 ? result->audit.confirmed_rows : result->counts.committed;
}

double phase_committed_per_s(const struct phase_result *result)
{
    int64_t until_decided_us = result->load.duration_us + result->settling_ms * 1000;
    if (result->counts.accepted > 0)
        return until_decided_us > 0
                   ? (double)phase_committed(result) * 1e6 / (double)until_decided_us
                   : 0;
    int64_t answered_2xx = result->load.requests - result->load.not_2xx;
    int64_t later = result->counts.committed + result->counts.accepted + result->counts.other_2xx;
    if (later == 0)
        return 0;
    return phase_per_s(result, answered_2xx) * (double)result->counts.committed / (double)later;
}

/* Of all parts of a schedule. */
static int64_t in_parts(const struct load_result *load, enum load_class class)
{
    int64_t sum = 0;
    for (size_t i = 0; i < load->parts_count; i++)
        sum += load->parts[i].classes[class].count;
    return sum;
}

static void count_as_offered(const struct load_result *load, double *values)
{
    values[THRESHOLD_ACCEPTED] = (double)in_parts(load, LOAD_ACCEPTED);
    values[THRESHOLD_REFUSED] = (double)in_parts(load, LOAD_REFUSED);
    values[THRESHOLD_FAILED] = (double)in_parts(load, LOAD_FAILED);
    for (int class = 0; class < LOAD_CLASSES; class ++)
        values[THRESHOLD_ORDERS] += (double)in_parts(load, (enum load_class) class);
}

static void count_as_answered(const struct phase_result *result, double *values)
{
    const struct counts *counts = &result->counts;
    values[THRESHOLD_ORDERS] = (double)result->load.requests;
    values[THRESHOLD_ACCEPTED] = (double)counts->accepted;
    values[THRESHOLD_REFUSED] = (double)counts->refused;
    values[THRESHOLD_FAILED] = (double)(counts->failed + counts->unknown);
}

bool phase_measured(const struct phase_result *result, struct measured *out)
{
    const struct load_result *load = &result->load;
    *out = (struct measured){.values = {[THRESHOLD_P50] = (double)load->p50_us,
                                        [THRESHOLD_P90] = (double)load->p90_us,
                                        [THRESHOLD_P99] = (double)load->p99_us,
                                        [THRESHOLD_MAX] = (double)load->max_us,
                                        [THRESHOLD_COMMITTED] = (double)phase_committed(result)}};
    if (*result->error || usage_limit(&load->usage) == USAGE_GENERATOR)
        return false;
    if (load->parts_count > 0)
        count_as_offered(load, out->values);
    else
        count_as_answered(result, out->values);
    measured_set_rates(out, load->duration_us);
    out->per_s[THRESHOLD_COMMITTED] = phase_committed_per_s(result);
    return true;
}
