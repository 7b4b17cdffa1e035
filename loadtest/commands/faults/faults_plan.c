/* See faults.h. */
#include "loadtest/commands/faults/faults.h"

#include "loadtest/base/pool.h"
#include "loadtest/engine/http_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each tells a family apart from the one before: a lock without and with a fence, the row itself,
 * the merged queue, orders that are in Redis alone, a lock that a crash or a lost reply leaves
 * behind, and a COMMIT without a reply. Each column's control is among them. */
static const char *const short_cells[] = {"redis-token/stall",   "redis-fenced/stall",
                                          "conditional/stall",   "redis-queue/stall",
                                          "redis-token/forget",  "redis-stock/forget",
                                          "redis-fenced/forget", "redis-queue/forget",
                                          "redis-setnx/kill",    "redis-token/kill",
                                          "conditional/kill",    "redis-setnx/reply",
                                          "redis-queue/reply",   "control-guess-commit/commit",
                                          "conditional/commit",  "batch/commit"};

/* A matrix that is being made. */
struct making {
    struct matrix *matrix;
    const struct harness *harness;
    const struct faults_options *options;
    bool several; /* none is named by itself: what cannot be run is left out, and said so */
};

/* A row is a cell that has no fault yet. That of a control sells by PostgreSQL alone, and is right
 * as long as its fault is not made. */
static struct cell row_of_control(const struct fault_control *control)
{
    struct cell row = {.strategy = {.available = true,
                                    .needs = " postgresql ",
                                    .promise = {.one_instance = true, .many_instances = true}},
                       .control = control};
    snprintf(row.strategy.name, sizeof row.strategy.name, "%s", control->name);
    return row;
}

/* Whether there is a server that has it. They look at the query before the body, which is none. */
static bool can_run(const struct making *making, const struct fault_control *control)
{
    char path[100];
    struct api_answer answer;
    struct error ignored;
    if (!control || !control->needs_failpoints || *making->options->control_binary)
        return true;
    http_request_order_target(path, sizeof path, control->strategy, "");
    return api_post(making->harness->api, making->harness->fleet.urls[0], path, "", &answer,
                    &ignored) &&
           strcmp(answer.says.code, "unknown_strategy") != 0;
}

static bool choose(const struct making *making, const char *name, struct cell *out,
                   struct error *error)
{
    const struct fault_control *control = fault_find_control(name);
    const struct api_strategy *strategy =
        control ? NULL : harness_choose(making->harness, name, error);
    if (control)
        *out = row_of_control(control);
    else if (strategy)
        *out = (struct cell){.strategy = *strategy};
    return control || strategy;
}

/* "redis-token/stall" */
static bool split(const struct making *making, const char *name, const char *flag, struct cell *row,
                  const struct fault **fault, struct error *error)
{
    char first[64];
    const char *slash = strchr(name, '/');
    if (!slash || (size_t)(slash - name) >= sizeof first)
        return error_fail(error, "%s takes STRATEGY/FAULT, not '%s'", flag, name);
    snprintf(first, sizeof first, "%.*s", (int)(slash - name), name);
    if (!choose(making, first, row, error))
        return false;
    *fault = fault_find(slash + 1, error);
    return *fault || error_prefix(error, "%s", flag);
}

static void add_cell(const struct making *making, const struct fault *fault, const struct cell *row)
{
    struct matrix *matrix = making->matrix;
    struct cell *cell = array_add(&matrix->cells, &matrix->count, sizeof *cell);
    *cell = *row;
    cell->fault = fault;
    cell->expected = cell_expectation_of(fault, &row->strategy);
}

static bool is_all(const struct option_list *list)
{
    return list->count == 1 && strcmp(list->items[0], "all") == 0;
}

static bool is_asked_for(const struct faults_options *options, const struct fault *fault)
{
    if (is_all(&options->faults))
        return *options->stack || !fault->needs_stack;
    for (size_t i = 0; i < options->faults.count; i++) {
        if (strcmp(options->faults.items[i], fault->name) == 0)
            return true;
    }
    return false;
}

static void add_cells(const struct making *making, const struct cell *row)
{
    const struct faults_options *options = making->options;
    for (size_t i = 0; i < fault_count(); i++) {
        const struct fault *fault = fault_at(i);
        /* A control has a cell in its own column, and one where nothing is done. */
        bool has = !row->control || row->control == fault->own || fault == &fault_calm;
        if (has && is_asked_for(options, fault) &&
            (!options->promised || cell_expectation_of(fault, &row->strategy) == CELL_HOLDS))
            add_cell(making, fault, row);
    }
}

/* Its cell under the fault, or with NULL under all that are asked for, where there is a server that
 * has it. */
static bool add(const struct making *making, const struct cell *row, const struct fault *fault,
                struct error *error)
{
    const char *name = row->strategy.name;
    const char *reason = !row->strategy.available ? row->strategy.unavailable_reason
                         : !can_run(making, row->control)
                             ? "it needs a server with failpoints, by --control-binary"
                             : NULL;
    if (reason && !making->several)
        return error_fail(error, "%s: %s", name, reason);
    if (reason)
        fprintf(stderr, "seckill-loadtest: left out: %s (%s)\n", name, reason);
    else if (fault)
        add_cell(making, fault, row);
    else
        add_cells(making, row);
    return true;
}

/* What `flag` names. */
static bool add_named(const struct making *making, const char *name, const char *flag,
                      struct error *error)
{
    struct cell row = {.control = NULL};
    const struct fault *fault = NULL;
    return split(making, name, flag, &row, &fault, error) && add(making, &row, fault, error);
}

static bool knows_faults(const struct faults_options *options, struct error *error)
{
    for (size_t i = 0; !is_all(&options->faults) && i < options->faults.count; i++) {
        const struct fault *fault = fault_find(options->faults.items[i], error);
        if (!fault)
            return error_prefix(error, "--faults");
        if (fault->needs_stack && !*options->stack)
            return error_fail(error, "--faults %s needs --stack", fault->name);
    }
    return true;
}

static bool add_everything(const struct making *making, struct error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < making->harness->strategies_count; i++)
        good = add(making, &(struct cell){.strategy = making->harness->strategies[i]}, NULL, error);
    for (size_t i = 0; good && i < fault_count(); i++) {
        const struct fault *fault = fault_at(i);
        if (!fault->own || !is_asked_for(making->options, fault))
            continue;
        const struct cell row = row_of_control(fault->own);
        good = add(making, &row, NULL, error);
    }
    return good;
}

static bool add_rows(const struct making *making, struct error *error)
{
    const struct option_list *names = &making->options->strategies;
    if (!knows_faults(making->options, error))
        return false;
    if (is_all(names))
        return add_everything(making, error);
    for (size_t i = 0; i < names->count; i++) {
        struct cell row;
        if (!choose(making, names->items[i], &row, error) || !add(making, &row, NULL, error))
            return false;
    }
    return true;
}

static bool expect(const struct making *making, const char *text, struct error *error)
{
    char name[128];
    struct cell row = {.control = NULL};
    const struct fault *fault = NULL;
    const char *equals = strchr(text, '=');
    bool holds = equals && strcmp(equals, "=holds") == 0;
    if (!equals || (!holds && strcmp(equals, "=breaks") != 0))
        return error_fail(error, "--expect takes STRATEGY/FAULT=holds or =breaks, not '%.80s'",
                          text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    if (!split(making, name, "--expect", &row, &fault, error))
        return false;
    struct cell *cell = matrix_find(making->matrix, row.strategy.name, fault);
    if (cell)
        cell->expected = holds ? CELL_HOLDS : CELL_BREAKS;
    return true;
}

bool faults_plan_make(struct matrix *out, const struct faults_options *options,
                      const struct harness *harness, struct error *error)
{
    bool one = *options->reproduce;
    const struct making making = {.matrix = out,
                                  .harness = harness,
                                  .options = options,
                                  .several = !one &&
                                             (options->short_form || is_all(&options->strategies))};
    bool good = true;
    *out = (struct matrix){.seed = options->shared.seed, .runs = one ? 1 : options->runs};
    if (one)
        good = add_named(&making, options->reproduce, "--reproduce", error);
    else if (options->short_form)
        for (size_t i = 0; good && i < sizeof short_cells / sizeof short_cells[0]; i++)
            good = add_named(&making, short_cells[i], "--short", error);
    else
        good = add_rows(&making, error);
    for (size_t i = 0; good && i < options->expect.count; i++)
        good = expect(&making, options->expect.items[i], error);
    if (good && out->count == 0)
        return error_fail(error, options->promised ? "no cell is held to a promise there"
                                                   : "there is no cell to run");
    return good;
}
