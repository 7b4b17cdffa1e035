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
