/* See scrape.h. */
#include "loadtest/fleet/scrape.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS_PREFIX   "seckill_orders_total{"
#define ATTEMPTS_PREFIX "seckill_attempts_total{"
#define GAUGE_PREFIX    "seckill_orders_in_flight"
#define STARTED_PREFIX  "process_start_time_seconds "
#define OPEN_PREFIX     "seckill_http_connections "

/* What a double counts exactly; sums of many of these do not overflow either. */
#define VALUE_MAX      9007199254740991.0

#define MEMBER(member) offsetof(struct counts, member)

/* Each outcome's class, and a second figure that it also counts in (or the same). */
static const struct {
    const char *outcome;
    size_t class, also;
} classes[] = {
    {"confirmed", MEMBER(committed), MEMBER(committed)},
    {"restocked", MEMBER(committed), MEMBER(committed)},
    {"accepted", MEMBER(accepted), MEMBER(accepted)},
    {"replayed", MEMBER(other_2xx), MEMBER(other_2xx)},
    {"cancelled", MEMBER(other_2xx), MEMBER(other_2xx)},
    {"sold_out", MEMBER(refused), MEMBER(sold_out)},
    {"limit_reached", MEMBER(refused), MEMBER(limited)},
    {"sale_not_open", MEMBER(refused), MEMBER(refused)},
    {"idempotency_mismatch", MEMBER(refused), MEMBER(refused)},
    {"not_cancellable", MEMBER(refused), MEMBER(refused)},
    {"unknown_product", MEMBER(refused), MEMBER(refused)},
    {"not_found", MEMBER(refused), MEMBER(refused)},
    {"queue_full", MEMBER(failed), MEMBER(failed)},
    {"queue_timeout", MEMBER(failed), MEMBER(failed)},
    {"lock_timeout", MEMBER(failed), MEMBER(failed)},
    {"cas_exhausted", MEMBER(failed), MEMBER(failed)},
    {"lease_lost", MEMBER(failed), MEMBER(failed)},
    {"strategy_unavailable", MEMBER(failed), MEMBER(failed)},
    {"backend_unavailable", MEMBER(failed), MEMBER(failed)},
    {"shutting_down", MEMBER(failed), MEMBER(failed)},
    {"internal_error", MEMBER(failed), MEMBER(internal_errors)},
    {"outcome_unknown", MEMBER(unknown), MEMBER(unknown)},
};

static int64_t *member(struct counts *counts, size_t offset)
{
    return (int64_t *)(void *)((char *)counts + offset);
}

/* The value of `name="…"` in a line's labels, copied; false when it is not there. */
static bool label(const char *line, const char *name, char *out, size_t size)
{
    char start[40];
    snprintf(start, sizeof start, "%s=\"", name);
    const char *brace = strchr(line, '{');
    const char *at = brace ? strstr(brace, start) : NULL;
    /* Not the tail of a longer name: a label follows the brace or a comma. */
    while (at && at[-1] != '{' && at[-1] != ',')
        at = strstr(at + 1, start);
    if (!at)
        return false;
    at += strlen(start);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

static bool value_of(const char *line, int64_t *out)
{
    const char *brace = strchr(line, '}');
    const char *at = brace ? brace + 1 : line + strcspn(line, " ");
    char *end = NULL;
    double value = strtod(at, &end);
    if (end == at || !(value >= 0 && value <= VALUE_MAX))
        return false;
    *out = (int64_t)value;
    return true;
}

static bool count_line(const char *line, const char *strategy, const char *kind,
                       struct counts *counts, struct error *error)
{
    char its_strategy[64], its_kind[32], outcome[64];
    int64_t value = 0;
    if (!label(line, "strategy", its_strategy, sizeof its_strategy) ||
        !label(line, "kind", its_kind, sizeof its_kind) ||
        !label(line, "outcome", outcome, sizeof outcome) || !value_of(line, &value))
        return error_fail(error, "cannot read the metric %.120s", line);
    if (strcmp(its_strategy, strategy) != 0 || strcmp(its_kind, kind) != 0) {
        counts->strangers += value;
        return true;
    }
    counts->total += value;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(classes[i].outcome, outcome) != 0)
            continue;
        *member(counts, classes[i].class) += value;
        if (classes[i].also != classes[i].class)
            *member(counts, classes[i].also) += value;
        return true;
    }
    return value == 0 || error_fail(error, "the metrics name an outcome unknown here: %s", outcome);
}

static bool attempts_line(const char *line, const char *strategy, struct counts *counts,
                          struct error *error)
{
    char its_strategy[64];
    int64_t value = 0;
    if (!label(line, "strategy", its_strategy, sizeof its_strategy) || !value_of(line, &value))
        return error_fail(error, "cannot read the metric %.120s", line);
    if (strcmp(its_strategy, strategy) == 0)
        counts->attempts += value;
    return true;
}

static bool gauge_line(const char *line, int64_t *sum, struct error *error)
{
    int64_t value = 0;
    if (!value_of(line, &value))
        return error_fail(error, "cannot read the metric %.120s", line);
    *sum += value;
    return true;
}

const char *const costs_ends[COSTS_ENDS] = {"committed", "refused", "accepted", "neither"};
const char *const costs_stores[COSTS_STORES] = {"postgresql", "redis"};
const char *const costs_measures[COSTS_MEASURES] = {"statements", "round_trips", "flushes",
                                                    "bytes"};

/* The place that the family and its labels name; NULL: there is none. */
static int64_t *place(struct costs *costs, const char *family, const char *ended, const char *store)
{
    for (int end = 0; end < COSTS_ENDS; end++) {
        if (strcmp(costs_ends[end], ended) != 0)
            continue;
        if (strcmp(family, "orders") == 0)
            return &costs->orders[end];
        for (int i = 0; i < COSTS_STORES; i++)
            for (int measure = 0; measure < COSTS_MEASURES; measure++)
                if (strcmp(costs_stores[i], store) == 0 &&
                    strcmp(costs_measures[measure], family) == 0)
                    return &costs->spent[end][i][measure];
    }
    return NULL;
}

/* A line that is none of those is nothing here. */
static void cost_line(const char *line, const char *strategy, struct costs *costs)
{
    char family[32], its_strategy[64], ended[32], store[32] = "";
    int64_t value = 0;
    if (sscanf(line, "seckill_cost_%31[a-z_]", family) < 1 ||
        !label(line, "strategy", its_strategy, sizeof its_strategy) ||
        !label(line, "ended", ended, sizeof ended) || !value_of(line, &value))
        return;
    (void)label(line, "store", store, sizeof store);
    char *total = strstr(family, "_total");
    if (total)
        *total = '\0';
    int64_t *at = place(costs, family, ended, store);
    if (at && strcmp(its_strategy, strategy) == 0)
        *at += value;
}

bool scrape_parse(const char *text, const char *strategy, const char *kind, struct scrape *out,
                  struct error *error)
{
    *out = (struct scrape){0};
    bool gauge = false;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        if (strncmp(line, ORDERS_PREFIX, strlen(ORDERS_PREFIX)) == 0) {
            if (!count_line(line, strategy, kind, &out->counts, error))
                return false;
        } else if (strncmp(line, ATTEMPTS_PREFIX, strlen(ATTEMPTS_PREFIX)) == 0) {
            if (!attempts_line(line, strategy, &out->counts, error))
                return false;
        } else if (strncmp(line, GAUGE_PREFIX, strlen(GAUGE_PREFIX)) == 0) {
            if (!gauge_line(line, &out->in_flight, error))
                return false;
            gauge = true;
        } else if (strncmp(line, OPEN_PREFIX, strlen(OPEN_PREFIX)) == 0) {
            if (!gauge_line(line, &out->connections, error))
                return false;
        } else if (strncmp(line, STARTED_PREFIX, strlen(STARTED_PREFIX)) == 0) {
            out->started_s = strtod(line + strlen(STARTED_PREFIX), NULL);
        } else {
            cost_line(line, strategy, &out->costs);
        }
        at += length + (at[length] == '\n');
    }
    return gauge || error_fail(error, "GET /metrics has no %s", GAUGE_PREFIX);
}

int64_t scrape_most_open(int64_t *most, const struct scrape *scrapes, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (scrapes[i].connections - 1 > most[i])
            most[i] = scrapes[i].connections - 1;
        sum += most[i];
    }
    return sum;
}

bool scrape_is_another(const struct scrape *before, const struct scrape *after)
{
    return before->started_s > 0 && after->started_s > 0 &&
           (before->started_s < after->started_s || before->started_s > after->started_s);
}

enum { COUNTS_MEMBERS = sizeof(struct counts) / sizeof(int64_t) };

struct counts counts_minus(const struct counts *after, const struct counts *before)
{
    struct counts result = *after;
    struct counts subtract = *before;
    for (size_t i = 0; i < COUNTS_MEMBERS; i++)
        *member(&result, i * sizeof(int64_t)) -= *member(&subtract, i * sizeof(int64_t));
    return result;
}

void counts_add(struct counts *sum, const struct counts *one)
{
    struct counts add = *one;
    for (size_t i = 0; i < COUNTS_MEMBERS; i++)
        *member(sum, i * sizeof(int64_t)) += *member(&add, i * sizeof(int64_t));
}

void costs_add(struct costs *sum, const struct costs *after, const struct costs *before)
{
    int64_t *to = (void *)sum;
    const int64_t *more = (const void *)after, *less = (const void *)before;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += more[i] - less[i];
}

double costs_each(const struct costs *costs, int end, int store, int measure)
{
    return costs->orders[end] > 0
               ? (double)costs->spent[end][store][measure] / (double)costs->orders[end]
               : 0;
}
