/*
 * wrk as a child process: writes its script (built into this binary) to a private folder, runs it,
 * reads the one line that the script's done() prints.
 */
#ifndef SECKILL_LOADTEST_WRK_H
#define SECKILL_LOADTEST_WRK_H

#include "loadtest/problem.h"
#include "loadtest/usage.h"

#include <stddef.h>
#include <stdint.h>

/* What a load generator counted and timed. Requests are answers received; `not_2xx` is every status
 * from 400 on.
 */
struct wrk_result {
    int64_t duration_us;
    int64_t requests;
    int64_t not_2xx;
    int64_t connect_errors, read_errors, write_errors, timeouts;
    int64_t p50_us, p90_us, p99_us, max_us;
    struct usage usage;
};

struct wrk_load {
    const char *const *targets; /* borrowed: http://HOST:PORT, one an instance */
    size_t targets_count;
    const char *path;  /* with its query */
    const char *token; /* "": none */
    bool restock;
    int64_t connections, threads; /* from wrk_shape */
    int64_t duration_s;
    int64_t first_user, users_per_thread;
    int64_t first_product, products;
    int64_t seed;
    void (*tick)(void *context); /* about five times a second; may be NULL */
    void *context;
    pid_t servers[USAGE_PROCESSES]; /* whose threads are watched */
    size_t servers_count;
};

/* Threads become a multiple of the instances, connections a multiple of the threads: wrk would drop
 * the rest of the division silently. `threads` 0: one a core. */
void wrk_shape(int64_t *connections, int64_t *threads, int64_t instances);

/* Adds a run to a sum. Percentiles cannot be added; the worst is true of all of them. */
void wrk_add(struct wrk_result *sum, const struct wrk_result *one);

/* Finds the done() line in what wrk wrote. */
bool wrk_parse(const char *output, struct wrk_result *result, struct problem *problem);

/* Splits http://HOST[:PORT][/] (an IPv6 address in brackets). */
struct wrk_url {
    char authority[256]; /* what Host: says */
    char host[256];      /* without brackets */
    char port[8];
};
bool wrk_split_url(const char *url, struct wrk_url *out, struct problem *problem);

/* Makes the private folder; false when wrk is not installed. `version` gets wrk's own word for it.
 */
bool wrk_init(char *version, size_t size, struct problem *problem);
void wrk_fini(void); /* removes the folder */

bool wrk_run(const struct wrk_load *load, struct wrk_result *result, struct problem *problem);

#endif
