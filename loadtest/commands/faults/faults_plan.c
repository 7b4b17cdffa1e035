/* See faults_plan.h. */
#include "loadtest/commands/faults/faults_plan.h"

#include <stdlib.h>
#include <string.h>

/* Each tells a family apart from the one before: a lock without and with a fence, the row itself,
 * the merged queue, what is kept in Redis alone, a lock that a crash or a lost reply leaves behind,
 * and who does not know whether it has committed. */
static const char *const short_cells[] = {
    "redis-token/stall",  "redis-fenced/stall", "conditional/stall",   "redis-queue/stall",
    "redis-token/forget", "redis-stock/forget", "redis-fenced/forget", "redis-queue/forget",
    "redis-setnx/kill",   "redis-token/kill",   "conditional/kill",    "redis-setnx/reply",
    "redis-queue/reply",  "none/commit",        "conditional/commit",  "batch/commit"};

static bool add_cell(struct matrix *matrix, const struct fault *fault,
                     const struct api_strategy *strategy, struct error *error)
{
    struct cell *grown = realloc(matrix->cells, (matrix->count + 1) * sizeof *grown);
    if (!grown)
        return error_fail(error, "out of memory");
    matrix->cells = grown;
    matrix->cells[matrix->count++] = (struct cell){
        .fault = fault, .strategy = *strategy, .expected = cell_expectation_of(fault, strategy)};
    return true;
}

/* "redis-token/stall", of which the first part is `length` long. */
static bool split(const struct harness *harness, const char *name, const char *flag,
                  const struct api_strategy **strategy, const struct fault **fault,
                  struct error *error)
{
    char first[64];
    const char *slash = strchr(name, '/');
    if (!slash || (size_t)(slash - name) >= sizeof first) {
        error_fail(error, "%s takes STRATEGY/FAULT, not '%s'", flag, name);
        return false;
    }
    snprintf(first, sizeof first, "%.*s", (int)(slash - name), name);
    *strategy = harness_choose(harness, first, error);
    *fault = *strategy ? fault_find(slash + 1, error) : NULL;
    if (!*fault)
        error_prefix(error, "%s", flag);
    return *fault != NULL;
}

static bool add_named(struct matrix *matrix, const struct harness *harness, const char *name,
                      const char *flag, struct error *error)
{
    const struct api_strategy *strategy = NULL;
    const struct fault *fault = NULL;
    return split(harness, name, flag, &strategy, &fault, error) &&
           add_cell(matrix, fault, strategy, error);
}

static bool is_all(const struct option_list *list)
{
    return list->count == 1 && strcmp(list->items[0], "all") == 0;
}

static bool add_row(struct matrix *matrix, const struct options *options,
                    const struct api_strategy *strategy, struct error *error)
{
    for (size_t i = 0; is_all(&options->faults) && i < fault_count(); i++) {
        bool can = *options->stack || !fault_at(i)->needs_stack;
        if (can && !add_cell(matrix, fault_at(i), strategy, error))
            return false;
    }
    for (size_t i = 0; !is_all(&options->faults) && i < options->faults.count; i++) {
        const struct fault *fault = fault_find(options->faults.items[i], error);
        if (!fault)
            return error_prefix(error, "--faults");
        if (fault->needs_stack && !*options->stack)
            return error_fail(error, "--faults %s needs --stack", fault->name);
        if (!add_cell(matrix, fault, strategy, error))
            return false;
    }
    return true;
}

static bool add_rows(struct matrix *matrix, const struct harness *harness, struct error *error)
{
    const struct options *options = harness->options;
    for (size_t i = 0; is_all(&options->strategies) && i < harness->strategies_count; i++) {
        const struct api_strategy *strategy = &harness->strategies[i];
        if (!strategy->available)
            fprintf(stderr, "seckill-loadtest: left out: %s (%s)\n", strategy->name,
                    strategy->unavailable_reason);
        else if (!add_row(matrix, options, strategy, error))
            return false;
    }
    for (size_t i = 0; !is_all(&options->strategies) && i < options->strategies.count; i++) {
        const struct api_strategy *strategy =
            harness_choose(harness, options->strategies.items[i], error);
        if (!strategy || !add_row(matrix, options, strategy, error))
            return false;
    }
    return true;
}

static bool expect(struct matrix *matrix, const struct harness *harness, const char *text,
                   struct error *error)
{
    char name[128];
    const struct api_strategy *strategy = NULL;
    const struct fault *fault = NULL;
    const char *equals = strchr(text, '=');
    bool holds = equals && strcmp(equals, "=holds") == 0;
    if (!equals || (!holds && strcmp(equals, "=breaks") != 0))
        return error_fail(error, "--expect takes STRATEGY/FAULT=holds or =breaks, not '%.80s'",
                          text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    if (!split(harness, name, "--expect", &strategy, &fault, error))
        return false;
    for (size_t i = 0; i < matrix->count; i++) {
        struct cell *cell = &matrix->cells[i];
        if (cell->fault == fault && strcmp(cell->strategy.name, strategy->name) == 0)
            cell->expected = holds ? CELL_HOLDS : CELL_BREAKS;
    }
    return true;
}

bool faults_plan_make(struct matrix *out, const struct harness *harness, struct error *error)
{
    const struct options *options = harness->options;
    bool good = true;
    *out = (struct matrix){.seed = options->seed, .runs = options->runs};
    if (*options->reproduce)
        good = add_named(out, harness, options->reproduce, "--reproduce", error);
    for (size_t i = 0; options->short_form && good && !*options->reproduce &&
                       i < sizeof short_cells / sizeof short_cells[0];
         i++)
        good = add_named(out, harness, short_cells[i], "--short", error);
    if (!*options->reproduce && !options->short_form)
        good = add_rows(out, harness, error);
    for (size_t i = 0; good && i < options->expect.count; i++)
        good = expect(out, harness, options->expect.items[i], error);
    return good;
}
