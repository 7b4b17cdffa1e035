/*
 * wrk as a child process: writes its script (built into this binary) to a private file, runs it,
 * reads the one line that the script's done() prints.
 */
#ifndef SECKILL_LOADTEST_LOAD_WRK_H
#define SECKILL_LOADTEST_LOAD_WRK_H

#include "loadtest/load/load.h"

/* Threads become a multiple of the instances, connections a multiple of the threads: wrk would drop
 * the rest of the division silently. `threads` 0: one a core. */
void wrk_shape(int64_t *connections, int64_t *threads, int64_t instances);

/* Finds the done() line in what wrk wrote. */
bool wrk_parse(const char *output, struct load_result *result, struct error *error);

/* Every latency, from the line behind it; none where it is missing. */
bool wrk_parse_steps(const char *output, struct latency *out, struct error *error);

/* wrk's own word for its version; false when it is not installed. */
bool wrk_version(char *version, size_t size, struct error *error);

/* A load that lasts so many seconds. At its end as many requests as it has connections may be
 * abandoned. It opens its connections while it loads, and goes on without those that it cannot
 * open: the servers have to be asked how many there were. False when the load could not be made. */
bool wrk_run(const struct load *load, struct load_result *result, struct error *error);

#endif
