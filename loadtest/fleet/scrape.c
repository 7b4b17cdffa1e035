/* See scrape.h. */
#include "loadtest/fleet/scrape.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN_FLIGHT "seckill_orders_in_flight"

/* What a double counts exactly; sums of many of these do not overflow either. */
#define VALUE_MAX 9007199254740991.0

enum { WORD_SIZE = 64 };

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

/* What a line says; a label that it does not have is "". */
struct sample {
    char strategy[WORD_SIZE], kind[WORD_SIZE], outcome[WORD_SIZE];
    char ended[WORD_SIZE], store[WORD_SIZE];
    double value;
};

static void read_label(const char *line, const char *name, char out[WORD_SIZE])
{
    char start[40];
    snprintf(start, sizeof start, "%s=\"", name);
    const char *brace = strchr(line, '{');
    const char *at = brace ? strstr(brace, start) : NULL;
    /* Not the tail of a longer name: a label follows the brace or a comma. */
    while (at && at[-1] != '{' && at[-1] != ',')
        at = strstr(at + 1, start);
    at = at ? at + strlen(start) : "";
    snprintf(out, WORD_SIZE, "%.*s", (int)strcspn(at, "\""), at);
}

/* False: it has no value, or none that a server could have come to, which is 0 then. */
static bool read_sample(const char *line, struct sample *out)
{
    read_label(line, "strategy", out->strategy);
    read_label(line, "kind", out->kind);
    read_label(line, "outcome", out->outcome);
    read_label(line, "ended", out->ended);
    read_label(line, "store", out->store);
    const char *brace = strchr(line, '}');
    const char *at = brace ? brace + 1 : line + strcspn(line, " ");
    char *end = NULL;
    out->value = strtod(at, &end);
    if (end != at && out->value >= 0 && out->value <= VALUE_MAX)
        return true;
    out->value = 0;
    return false;
}

/* False: how they ended is unknown here. */
static bool count_orders(const struct sample *orders, bool ours, struct counts *counts)
{
    int64_t value = (int64_t)orders->value;
    *(ours ? &counts->total : &counts->strangers) += value;
    for (size_t i = 0; ours && i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(classes[i].outcome, orders->outcome) != 0)
            continue;
        *member(counts, classes[i].class) += value;
        if (classes[i].also != classes[i].class)
            *member(counts, classes[i].also) += value;
        return true;
    }
    return !ours || value == 0;
}

const char *const costs_ends[COSTS_ENDS] = {"committed", "refused", "accepted", "neither"};
const char *const costs_stores[COSTS_STORES] = {"postgresql", "redis"};
const char *const costs_measures[COSTS_MEASURES] = {"statements", "round_trips", "flushes",
                                                    "bytes"};

/* The place that the family and its labels name; NULL: there is none. */
static int64_t *place(struct costs *costs, const char *family, const struct sample *sample)
{
    for (int end = 0; end < COSTS_ENDS; end++) {
        if (strcmp(costs_ends[end], sample->ended) != 0)
            continue;
        if (strcmp(family, "orders") == 0)
            return &costs->orders[end];
        for (int i = 0; i < COSTS_STORES; i++)
            for (int measure = 0; measure < COSTS_MEASURES; measure++)
                if (strcmp(costs_stores[i], sample->store) == 0 &&
                    strcmp(costs_measures[measure], family) == 0)
                    return &costs->spent[end][i][measure];
    }
    return NULL;
}

/* A line that is none of those is nothing here. */
static void add_costs(const char *line, const struct sample *sample, struct costs *costs)
{
    char family[32] = "";
    char *total =
        sscanf(line, "seckill_cost_%31[a-z_]", family) == 1 ? strstr(family, "_total") : NULL;
    if (total)
        *total = '\0';
    int64_t *at = place(costs, family, sample);
    if (at)
        *at += (int64_t)sample->value;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static bool take_line(const char *line, const char *strategy, const char *kind, struct scrape *out,
                      struct error *error)
{
    struct sample sample;
    if (*line == '#' || strstr(line, "_bucket{"))
        return true; /* most of the page */
    bool good = read_sample(line, &sample);
    bool ours = strcmp(sample.strategy, strategy) == 0;
    if (begins(line, "seckill_orders_total{")) {
        good = good && *sample.strategy && *sample.kind && *sample.outcome;
        if (good && !count_orders(&sample, ours && strcmp(sample.kind, kind) == 0, &out->counts))
            return error_fail(error, "the metrics name an outcome unknown here: %s",
                              sample.outcome);
    } else if (begins(line, "seckill_attempts_total{")) {
        good = good && *sample.strategy;
        out->counts.attempts += ours ? (int64_t)sample.value : 0;
    } else if (begins(line, IN_FLIGHT)) {
        out->in_flight += (int64_t)sample.value;
    } else if (begins(line, "seckill_http_connections ")) {
        out->connections += (int64_t)sample.value;
    } else if (begins(line, "process_start_time_seconds ")) {
        out->started_s = sample.value;
    } else {
        good = true;
        if (ours)
            add_costs(line, &sample, &out->costs);
    }
    return good || error_fail(error, "cannot read the metric %.120s", line);
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
        if (!take_line(line, strategy, kind, out, error))
            return false;
        gauge = gauge || begins(line, IN_FLIGHT);
        at += length + (at[length] == '\n');
    }
    return gauge || error_fail(error, "GET /metrics has no " IN_FLIGHT);
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

static void add(int64_t *sum, const int64_t *after, const int64_t *before, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *sum; i++)
        sum[i] += after[i] - before[i];
}

void counts_add(struct counts *sum, const struct counts *after, const struct counts *before)
{
    add((void *)sum, (const void *)after, (const void *)before, sizeof *sum);
}

void costs_add(struct costs *sum, const struct costs *after, const struct costs *before)
{
    add((void *)sum, (const void *)after, (const void *)before, sizeof *sum);
}

double costs_each(const struct costs *costs, int end, int store, int measure)
{
    return costs->orders[end] > 0
               ? (double)costs->spent[end][store][measure] / (double)costs->orders[end]
               : 0;
}
