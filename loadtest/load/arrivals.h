/*
 * When orders arrive: a schedule that is known before anything is sent, and does not care how the
 * server fares. Constant or Poisson arrivals, in parts of different rates (idle, bell, tail).
 *
 * The same plan gives the same times again, so two walks over it see the same arrivals: the one
 * that waits for each to fall due, and the one behind it that starts them.
 */
#ifndef SECKILL_LOADTEST_LOAD_ARRIVALS_H
#define SECKILL_LOADTEST_LOAD_ARRIVALS_H

#include "loadtest/base/options.h"
#include "loadtest/base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARRIVALS_PARTS_MAX = 3 };

struct arrivals_part {
    const char *name; /* borrowed */
    double rate_per_s;
    int64_t duration_us;
};

struct arrivals_plan {
    enum arrivals_kind kind;
    int64_t seed;
    struct arrivals_part parts[ARRIVALS_PARTS_MAX];
    size_t parts_count;
    int64_t lead_us; /* the beginning, which is offered and not counted */
};

int64_t arrivals_duration_us(const struct arrivals_plan *plan);

/* A walk. `at_us`, from the schedule's beginning, and `part` are those of the arrival it stands at,
 * while not `ended`. */
struct arrivals {
    const struct arrivals_plan *plan; /* borrowed */
    struct random random;
    double exact_us, part_began_us;
    int64_t at_us;
    size_t part;
    bool ended;
};

/* Stands at the first arrival. */
void arrivals_init(struct arrivals *arrivals, const struct arrivals_plan *plan);
void arrivals_next(struct arrivals *arrivals);

#endif
