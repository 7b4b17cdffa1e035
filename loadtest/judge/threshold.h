/*
 * Thresholds: "p99>250ms,failed>1%,committed<1000", conditions on the figures of a load. The option
 * says whether a condition that is met is a failure (--fail-if) or must hold (--slo).
 *
 * A condition is MEASURE, one of < <= > >=, and a number with its unit. A time's unit is us, ms or
 * s, and must be there. A number of orders has none (orders in all), /s (a second) or % (of all
 * orders).
 *
 * Pure functions on values: any thread.
 */
#ifndef SECKILL_LOADTEST_JUDGE_THRESHOLD_H
#define SECKILL_LOADTEST_JUDGE_THRESHOLD_H

#include "base/error.h"
#include "loadtest/load/latency.h"

#include <stdbool.h>
#include <stddef.h>

enum threshold_measure {
    THRESHOLD_P50,
    THRESHOLD_P90,
    THRESHOLD_P99,
    THRESHOLD_MAX,
    THRESHOLD_ORDERS, /* from here on orders are counted; this one: all of them */
    THRESHOLD_COMMITTED,
    THRESHOLD_ACCEPTED,
    THRESHOLD_REFUSED,
    THRESHOLD_FAILED,
    THRESHOLD_MEASURES
};

enum threshold_unit { THRESHOLD_US, THRESHOLD_COUNT, THRESHOLD_PER_S, THRESHOLD_PERCENT };
enum threshold_order { THRESHOLD_LESS, THRESHOLD_AT_MOST, THRESHOLD_MORE, THRESHOLD_AT_LEAST };

enum { THRESHOLDS_MAX = 16, THRESHOLD_TEXT_SIZE = 64 };

struct threshold {
    char text[THRESHOLD_TEXT_SIZE]; /* as it was typed */
    enum threshold_measure measure;
    enum threshold_order order;
    enum threshold_unit unit;
    double limit; /* in the unit */
};

/* Begins as {0}: none. */
struct thresholds {
    struct threshold items[THRESHOLDS_MAX];
    size_t count;
};

/* What a load has measured: of a time its microseconds, else orders in all. */
struct measured {
    double values[THRESHOLD_MEASURES];
    double per_s[THRESHOLD_MEASURES]; /* of what counts orders */
};

/* Its times, of a histogram; and what its orders are a second, of a load that took so long. */
void measured_set_times(struct measured *measured, const struct latency *latency);
void measured_set_rates(struct measured *measured, int64_t took_us);

/* False: `error` names the flag, the character at which the list is wrong, and what may stand
 * there. */
bool thresholds_parse(const char *flag, const char *text, struct thresholds *out,
                      struct error *error);

/* `missing`: what a load does not measure, each with the reason; NULL: it is measured. False when a
 * condition is about one of these: `error` names the flag, the measure, the reason, and what there
 * is. */
bool thresholds_are_measured(const char *flag, const struct thresholds *thresholds,
                             const char *const missing[THRESHOLD_MEASURES], struct error *error);

/* The measured figure in the threshold's unit. A share of no orders is 0. */
double threshold_value(const struct threshold *threshold, const struct measured *measured);
/* Whether the condition is met. */
bool threshold_is_met(const struct threshold *threshold, const struct measured *measured);
/* The first that is not met; NULL: there is none. */
const struct threshold *thresholds_find_broken(const struct thresholds *thresholds,
                                               const struct measured *measured);

/* "p99>250ms: 312.4 ms, 62.4 ms more", of a value that meets it or not; returns `out`. */
const char *threshold_say_value(const struct threshold *threshold, double value, char *out,
                                size_t size);

#endif
