/* See books.h. */
#include "loadtest/judge/books.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void books_compute(struct books *audit)
{
    int64_t left = audit->initial_stock + audit->restocked - audit->sold - audit->held;
    audit->products = 1;
    audit->lowest_stock = audit->stock;
    audit->oversold = left < 0 ? -left : 0;
    audit->lost_updates = llabs(left - audit->stock);
    audit->negative = audit->stock < 0;
}

static void add_strategy(struct books *books, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = books->strategies; *at;) {
        size_t item = strcspn(at, ",");
        if (item == length && strncmp(at, name, length) == 0)
            return;
        at += item + (at[item] == ',');
    }
    size_t used = strlen(books->strategies);
    snprintf(books->strategies + used, sizeof books->strategies - used, "%s%s", used ? "," : "",
             name);
    books->strategies_count++;
}

void books_add_strategies(struct books *books, const char *names)
{
    char copy[BOOKS_STRATEGIES_MAX];
    snprintf(copy, sizeof copy, "%s", names);
    char *rest = NULL;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        add_strategy(books, name);
}

void books_add(struct books *sum, const struct books *one)
{
    if (sum->products == 0 || one->lowest_stock < sum->lowest_stock)
        sum->lowest_stock = one->lowest_stock;
    const int64_t *from = (const void *)one;
    int64_t *to = (void *)sum;
    for (size_t i = 0; i < offsetof(struct books, lowest_stock) / sizeof *to; i++)
        to[i] += from[i];
    books_add_strategies(sum, one->strategies);
}

void books_undersell(struct books *sum, int64_t sold_out_answers, int64_t quantity)
{
    if (sold_out_answers > 0 && sum->products > 0 && sum->lowest_stock >= quantity)
        sum->undersold = sum->lowest_stock;
}

bool books_consistent(const struct books *audit)
{
    return audit->oversold == 0 && audit->lost_updates == 0 && audit->duplicate_orders == 0 &&
           audit->limit_violations == 0 && audit->negative == 0;
}

int64_t books_violations(const struct books *audit)
{
    return audit->oversold + audit->lost_updates + audit->duplicate_orders +
           audit->limit_violations + audit->negative + audit->undersold + audit->missing +
           audit->resold + audit->unrepeatable;
}
