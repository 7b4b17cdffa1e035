/*
 * The open-loop generator: starts orders when the schedule says so, however slow the servers are,
 * and counts every latency from the moment at which the order was due. What the servers make others
 * wait is in the figures (no coordinated omission), unlike with wrk, which sends the next order
 * when the one before was answered.
 *
 * One thread, one epoll, keep-alive connections that stand before the first order is due. An order
 * that falls due while all of them are busy starts as soon as one is free, late, and its latency
 * still counts from when it was due; one that has not started when the last has fallen due never
 * does, and counts as failed with the wait it had by then.
 *
 * How late the generator itself takes up what is due is measured too (lag), and it asks the kernel
 * for precedence over the servers, since buyers have machines of their own. Where more than one
 * arrival in a hundred lags by more than the limit, the figures are the generator's and not the
 * servers': `too_late` is set, and nobody may report them.
 */
#ifndef SECKILL_LOADTEST_LOAD_OPEN_LOOP_H
#define SECKILL_LOADTEST_LOAD_OPEN_LOOP_H

#include "base/error.h"
#include "loadtest/load/arrivals.h"
#include "loadtest/load/latency.h"

enum { OPEN_LOOP_CONNECTIONS_MAX = 60000 };

/* committed: 201 and 200. accepted: 202. refused: a final no (404, 409). failed: every other
 * answer, none, one that cannot be read, and orders that never started. */
enum open_loop_class {
    OPEN_LOOP_COMMITTED,
    OPEN_LOOP_ACCEPTED,
    OPEN_LOOP_REFUSED,
    OPEN_LOOP_FAILED,
    OPEN_LOOP_CLASSES
};
const char *open_loop_class_name(enum open_loop_class class);

struct open_loop_load {
    const char *const *targets; /* borrowed: http://HOST:PORT, used in turn */
    size_t targets_count;
    const char *path;  /* with its query */
    const char *token; /* "": none */
    bool restock;
    int64_t connections; /* the most that are open */
    struct arrivals_plan arrivals;
    int64_t first_user;
    int64_t first_product, products;
    int64_t lag_limit_us;
    int64_t start_us;            /* CLOCK_MONOTONIC; 0: as soon as the connections stand */
    void (*tick)(void *context); /* about five times a second; may be NULL */
    void *context;
};

struct open_loop_part {
    const char *name; /* borrowed: the plan's */
    double rate_per_s;
    int64_t duration_us;
    int64_t arrivals; /* that fell due */
    int64_t late_starts, never_started;
    struct latency_figures classes[OPEN_LOOP_CLASSES];
};

struct open_loop_result {
    struct open_loop_part parts[ARRIVALS_PARTS_MAX];
    size_t parts_count;
    struct latency_figures all; /* every arrival */
    struct latency_figures lag; /* from an arrival's time until the generator took it up */
    bool too_late;
    int64_t committed_in_time; /* committed after the lead and before the schedule's end */
    int64_t answers, not_2xx;
    int64_t unanswered;  /* started, no answer that could be read: nobody knows what became of it */
    int64_t duration_us; /* the schedule's, or until the last answer if that came later */
};

/* False when the load could not be made: nobody listens, no descriptors, interrupted. A server that
 * dies meanwhile is a result. */
bool open_loop_run(const struct open_loop_load *load, struct open_loop_result *result,
                   struct error *error);

#endif
