/* See verdict.h. */
#include "loadtest/judge/verdict.h"

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

void books_add_strategies(struct books *books, const char *names)
{
    char copy[BOOKS_STRATEGIES_MAX], there[sizeof copy + 2], wanted[sizeof there], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        size_t used = strlen(books->strategies);
        snprintf(there, sizeof there, ",%s,", books->strategies);
        snprintf(wanted, sizeof wanted, ",%s,", name);
        if (strstr(there, wanted))
            continue;
        snprintf(books->strategies + used, sizeof books->strategies - used, "%s%s", used ? "," : "",
                 name);
        books->strategies_count++;
    }
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

struct promise promise_with(const struct promise *promise, bool guarded)
{
    return guarded ? (struct promise){true, true, true, true} : *promise;
}

bool promise_in_force(const struct promise *promise, int instances, bool guarded)
{
    struct promise whole = promise_with(promise, guarded);
    return instances > 1 ? whole.many_instances : whole.one_instance;
}

const char *promise_right_if(const struct promise *promise)
{
    if (!promise->many_instances)
        return promise->one_instance ? "one instance" : "never";
    if (promise->paused_holder && promise->redis_failover)
        return "anything happens";
    if (!promise->paused_holder && !promise->redis_failover)
        return "no stall/failover";
    return promise->paused_holder ? "no failover" : "no stall";
}

/* Whether a run without a violation shows anything at all. */
static bool proves_something(const struct evidence *evidence)
{
    if (!evidence->complete)
        return false;
    if (evidence->scenario == SCENARIO_SOLDOUT)
        return evidence->refused > 0 && evidence->done == 0;
    return evidence->done > 0;
}

enum verdict verdict_of(const struct evidence *evidence)
{
    /* The server says itself that it failed: no promise covers that. */
    if (evidence->internal_errors > 0)
        return VERDICT_BROKEN;
    /* Promises speak of a product sold by one strategy alone. */
    if (evidence->audit->strategies_count > 1)
        return VERDICT_PROVED_NOTHING;
    if (books_violations(evidence->audit) > 0)
        return evidence->promised ? VERDICT_BROKEN : VERDICT_UNSAFE;
    if (!evidence->promised || !proves_something(evidence))
        return VERDICT_PROVED_NOTHING;
    return VERDICT_KEPT;
}

enum verdict verdict_merge(enum verdict a, enum verdict b)
{
    return a > b ? a : b;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_KEPT] = "kept",
        [VERDICT_PROVED_NOTHING] = "proved nothing",
        [VERDICT_UNSAFE] = "unsafe, as stated",
        [VERDICT_NO_RUN] = "no run",
        [VERDICT_BROKEN] = "BROKEN",
    };
    return names[verdict];
}

const char *verdict_in_words(enum verdict verdict, const struct promise *promise)
{
    if (verdict != VERDICT_KEPT)
        return verdict_name(verdict);
    if (!promise->many_instances)
        return "kept, one instance";
    if (!promise->paused_holder)
        return "kept, not when paused";
    return promise->redis_failover ? "kept" : "kept, no failover";
}

int verdict_exit_status(const struct verdict_tally *tally)
{
    size_t all = 0;
    for (size_t i = 0; i <= VERDICT_BROKEN; i++)
        all += tally->counts[i];
    if (tally->counts[VERDICT_BROKEN] > 0)
        return 1;
    if (all == 0 || tally->counts[VERDICT_PROVED_NOTHING] > 0 || tally->counts[VERDICT_NO_RUN] > 0)
        return 2;
    return 0;
}
