/* See audit.h. */
#include "loadtest/judge/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void audit_compute(struct audit *audit)
{
    int64_t left = audit->initial_stock + audit->restocked - audit->sold;
    audit->products = 1;
    audit->lowest_stock = audit->stock;
    audit->oversold = left < 0 ? -left : 0;
    audit->lost_updates = llabs(left - audit->stock);
    audit->negative = audit->stock < 0;
}

void audit_add_strategy(struct audit *audit, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = audit->strategies; *at;) {
        size_t item = strcspn(at, ",");
        if (item == length && strncmp(at, name, length) == 0)
            return;
        at += item + (at[item] == ',');
    }
    size_t used = strlen(audit->strategies);
    snprintf(audit->strategies + used, sizeof audit->strategies - used, "%s%s", used ? "," : "",
             name);
    audit->strategies_count++;
}

void audit_add(struct audit *sum, const struct audit *one)
{
    if (sum->products == 0 || one->lowest_stock < sum->lowest_stock)
        sum->lowest_stock = one->lowest_stock;
    sum->products += one->products;
    sum->initial_stock += one->initial_stock;
    sum->restocked += one->restocked;
    sum->sold += one->sold;
    sum->stock += one->stock;
    sum->oversold += one->oversold;
    sum->lost_updates += one->lost_updates;
    sum->duplicate_orders += one->duplicate_orders;
    sum->limit_violations += one->limit_violations;
    sum->queued += one->queued;
    sum->confirmed_rows += one->confirmed_rows;
    sum->restock_rows += one->restock_rows;
    sum->failed_rows += one->failed_rows;
    sum->negative += one->negative;
    sum->undersold += one->undersold;
    sum->missing += one->missing;
    sum->resold += one->resold;
    char names[AUDIT_STRATEGIES_MAX];
    snprintf(names, sizeof names, "%s", one->strategies);
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        audit_add_strategy(sum, name);
}

void audit_undersell(struct audit *sum, int64_t sold_out_answers, int64_t quantity)
{
    if (sold_out_answers > 0 && sum->products > 0 && sum->lowest_stock >= quantity)
        sum->undersold = sum->lowest_stock;
}

bool audit_consistent(const struct audit *audit)
{
    return audit->oversold == 0 && audit->lost_updates == 0 && audit->duplicate_orders == 0 &&
           audit->limit_violations == 0 && audit->negative == 0;
}

int64_t audit_violations(const struct audit *audit)
{
    return audit->oversold + audit->lost_updates + audit->duplicate_orders +
           audit->limit_violations + audit->negative + audit->undersold + audit->missing +
           audit->resold;
}
