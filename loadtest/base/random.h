/*
 * Random numbers that follow from a seed, so that a run can be made again: the same seed gives the
 * same numbers on every machine. Each user of a seed takes a stream of its own, so that two who
 * share one do not draw the same.
 */
#ifndef SECKILL_LOADTEST_BASE_RANDOM_H
#define SECKILL_LOADTEST_BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

struct random random_begin(int64_t seed, uint64_t stream);

/* Below `below`, which is at least 1. */
int64_t random_pick(struct random *random, int64_t below);

/* At least 0 and less than 1. */
double random_unit(struct random *random);

bool random_happens(struct random *random, int64_t of_hundred);

#endif
