/* What a sale came to: printed, as results.json, and as report.html. */
#ifndef SECKILL_LOADTEST_SHOP_SALE_TOLD_H
#define SECKILL_LOADTEST_SHOP_SALE_TOLD_H

#include "loadtest/judge/threshold.h"
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

#endif
