/*
 * wrk as a child process: writes its script (built into this binary) to a private folder, runs it,
 * reads the one line that the script's done() prints.
 */
#ifndef SECKILL_LOADTEST_LOAD_WRK_H
#define SECKILL_LOADTEST_LOAD_WRK_H

#include "base/error.h"
#include "loadtest/load/usage.h"

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
    int64_t sold_out_us; /* when "sold out" was first answered (CLOCK_MONOTONIC); 0: never */
    int64_t resold;      /* orders sent after that, and sold or accepted */
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
    bool watch_sold_out; /* of one product; it costs the generator, so the figures are not speed */
    int64_t sold_out_us; /* a sold_out_us of an earlier run of the same sale; 0: none */
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
bool wrk_parse(const char *output, struct wrk_result *result, struct error *error);

/* Splits http://HOST[:PORT][/] (an IPv6 address in brackets). */
struct wrk_url {
    char authority[256]; /* what Host: says */
    char host[256];      /* without brackets */
    char port[8];
};
bool wrk_split_url(const char *url, struct wrk_url *out, struct error *error);

/* wrk's own word for its version; false when it is not installed. */
bool wrk_version(char *version, size_t size, struct error *error);

/* Removes what wrk_run has left for the next one. */
void wrk_fini(void);

bool wrk_run(const struct wrk_load *load, struct wrk_result *result, struct error *error);

#endif
