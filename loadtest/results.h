/* results.csv and results.json: what a run found, in api.md's shape. */
#ifndef SECKILL_LOADTEST_RESULTS_H
#define SECKILL_LOADTEST_RESULTS_H

#include "loadtest/machine.h"
#include "loadtest/phase.h"

/* Makes `wanted`, or with "" a folder named after the time under results/. `out` gets its path. */
bool results_make_folder(const char *wanted, char *out, size_t size, struct problem *problem);

bool results_write_csv(const char *folder, const struct phase_result *runs, size_t count,
                       struct problem *problem);
bool results_write_json(const char *folder, const struct phase_result *runs, size_t count,
                        const struct options *options, const struct machine *machine,
                        struct problem *problem);

#endif
