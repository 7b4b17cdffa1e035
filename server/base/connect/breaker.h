/*
 * A circuit breaker for connects: after one has failed nobody tries for a quarter of a second, so
 * that a dead backend costs nobody more than that. The jitter keeps the sessions of many instances
 * from connecting at the same moment.
 *
 * A failure counts only when it proves something: its caller had time enough, and the backend has
 * served nobody since it began; so one that takes some is shut to nobody. Zeroed, it is ready. Any
 * thread may call.
 *
 * Source: Michael T. Nygard, "Release It!", Circuit Breaker.
 */
#ifndef SECKILL_BASE_CONNECT_BREAKER_H
#define SECKILL_BASE_CONNECT_BREAKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct breaker {
    _Atomic int64_t open_until_us; /* nobody tries before */
    _Atomic int64_t worked_us;     /* when it has last served */
};

bool breaker_is_open(const struct breaker *breaker);

/* The backend has just served: everybody may try at once. */
void breaker_close(struct breaker *breaker);

/* A connect from `begun_us` with that deadline has just failed: whether that counts. It does not
 * when it ended at a deadline less than `least_us` away, or the backend has served since. */
bool breaker_counts(const struct breaker *breaker, int64_t begun_us, int64_t until_us,
                    int64_t least_us);

/* The same, and nobody tries for a moment if it counts. */
bool breaker_trip(struct breaker *breaker, int64_t begun_us, int64_t until_us, int64_t least_us);

#endif
