/* Results of runs by hand: a document of a strategy and a few members of JSON each. */
#ifndef SECKILL_TESTS_HARNESS_UNIT_HAND_RUNS_H
#define SECKILL_TESTS_HARNESS_UNIT_HAND_RUNS_H

#include "loadtest/report/document/document.h"

/* A phase, for its figures where `more` does not say otherwise, with one instance. */
struct hand_run {
    const char *strategy;
    const char *more; /* members, in JSON */
};

#define PROMISES "[\"one_instance\",\"many_instances\",\"paused_holder\",\"redis_failover\"]"
#define TWO      "[\"one_instance\",\"many_instances\"]"
#define ONE      "[\"one_instance\"]"
#define TRUTH(instances, sold, oversold, promise, verdict)                                         \
    "{\"phase\": \"truth\", \"instances\": " #instances                                            \
    ", \"stock\": 100, \"audit\": {\"sold\": " #sold ", \"oversold\": " #oversold                  \
    "}, \"promise\": " promise ", \"verdict\": \"" verdict "\"}"
#define SPEED(instances, rate, promise)                                                            \
    "{\"instances\": " #instances ", \"committed_per_s\": " #rate                                  \
    ", \"latency_us\": {\"p99\": 3000}, \"promise\": " promise ", \"verdict\": \"kept\"}"

/* Two rounds, in which local-lock oversells with three instances; redis-token has one. */
enum { HAND_ROUNDS = 7 };
extern const struct hand_run hand_rounds[HAND_ROUNDS];

struct document hand_document(const struct hand_run *runs, size_t count);

#endif
