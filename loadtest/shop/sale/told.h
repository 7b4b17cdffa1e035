/* What a sale came to: printed, as results.json, as report.html, and as a pipeline reads it. */
#ifndef SECKILL_LOADTEST_SHOP_SALE_TOLD_H
#define SECKILL_LOADTEST_SHOP_SALE_TOLD_H

#include "loadtest/report/pipeline/gate.h"
#include "loadtest/shop/sale/sale.h"

#include <stdio.h>

void told_print(FILE *to, const struct sale *sale);
/* FOLDER/results.json and report.html; `target` is the sale's. */
bool told_write(const char *folder, const struct target *target, const struct sale *sale,
                const struct thresholds *fail_if, struct error *error);

/* What cannot be measured of a target, each with the reason, for thresholds_are_measured. */
void told_missing(const struct target *target, const char *missing[THRESHOLD_MEASURES]);

/* A case for each claim that was asked for, and one for the verdict. */
void told_add_cases(struct junit *junit, const struct sale *sale);

#endif
