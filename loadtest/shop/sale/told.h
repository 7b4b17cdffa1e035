/* What a sale came to: printed, as results.json, as report.html, and as a pipeline reads it. */
#ifndef SECKILL_LOADTEST_SHOP_SALE_TOLD_H
#define SECKILL_LOADTEST_SHOP_SALE_TOLD_H

#include "loadtest/judge/threshold.h"
#include "loadtest/report/pipeline/gate.h"
#include "loadtest/shop/sale/sale.h"

#include <stdio.h>

/* All borrowed. */
struct told {
    const struct sale_plan *plan;
    const struct sale *sale;
    const struct sale_answers *answers; /* SHOP_MEANINGS of them */
    const struct thresholds *fail_if;
    const struct measured *measured;
};

void told_print(FILE *to, const struct told *told);
/* FOLDER/results.json. */
bool told_write(const struct told *told, struct error *error);
/* FOLDER/report.html. */
bool told_page(const struct told *told, struct error *error);

/* --- what was measured, for --fail-if, and each claim as a case of JUnit's --- */

/* What cannot be measured of a target, each with the reason, for thresholds_are_measured. */
void sale_missing(const struct target *target, const char *missing[THRESHOLD_MEASURES]);

/* Times are of the first answer, since it was due. Committed is what the shop's books list; refused
 * is a definite no in the end; failed is what ended as neither, and what was accepted and not
 * decided although it was asked for. */
void sale_measure(const struct target *target, const struct sale *sale,
                  const struct sale_answers answers[SHOP_MEANINGS], struct measured *out);

/* A case for each claim that was asked for, and one for the verdict. */
void sale_add_cases(struct junit *junit, const struct target *target, const struct sale *sale);

#endif
