/*
 * A sale as a pipeline reads it: what was measured, for --fail-if, and each claim as a case of
 * JUnit's. Pure functions: any thread.
 */
#ifndef SECKILL_LOADTEST_SHOP_SALE_SALE_GATE_H
#define SECKILL_LOADTEST_SHOP_SALE_SALE_GATE_H

#include "loadtest/judge/threshold.h"
#include "loadtest/report/pipeline/junit.h"
#include "loadtest/shop/sale/sale.h"

/* What cannot be measured of a target, each with the reason, for thresholds_are_measured. */
void sale_missing(const struct target *target, const char *missing[THRESHOLD_MEASURES]);

/* Times are of the first answer, since it was due. Committed is what the shop's books list; refused
 * is a definite no in the end; failed is what ended as neither, and what was accepted and not
 * decided although it was asked for. */
void sale_measure(const struct target *target, const struct sale *sale, struct measured *out);

/* A case for each claim that was asked for, and one for the verdict. */
void sale_add_cases(struct junit *junit, const struct target *target, const struct sale *sale);

#endif
