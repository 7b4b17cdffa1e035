/* results.csv and results.json: what a run found, in the shape that others read. */
#ifndef SECKILL_LOADTEST_REPORT_RESULTS_H
#define SECKILL_LOADTEST_REPORT_RESULTS_H

#include "loadtest/fleet/machine.h"
#include "loadtest/phase/phase.h"

/* All phases of a run, in the order in which they were made. Begins as (struct results){0}; the
 * owner frees the items. */
struct results {
    struct phase_result *items; /* owned */
    size_t count, room;
};

/* A new one at the end, empty; NULL: out of memory. It moves with the next one. */
struct phase_result *results_next(struct results *results);

bool results_write_csv(const char *folder, const struct results *results, struct error *error);
bool results_write_json(const char *folder, const struct results *results,
                        const struct options *options, const struct machine *machine,
                        struct error *error);

#endif
