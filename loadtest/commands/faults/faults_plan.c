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

/* What a matrix is made by. */
struct making {
    const struct harness *harness;
    const struct faults_options *options;
};

/* A row of the matrix: a strategy that the servers offer, or a control that they do not. */
struct row {
    struct api_strategy strategy;
    const struct fault_control *control; /* NULL: offered */
};

/* A control sells by PostgreSQL alone, and is right as long as its fault is not made. */
static struct row row_of_control(const struct fault_control *control)
{
    struct row row = {.strategy = {.available = true,
                                   .needs = " postgresql ",
                                   .promise = {.one_instance = true, .many_instances = true}},
                      .control = control};
    snprintf(row.strategy.name, sizeof row.strategy.name, "%s", control->name);
    return row;
}

/* Whether there is a server that has it. They look at the query before the body, which is none. */
static bool can_run(const struct making *by, const struct fault_control *control)
{
    char path[100];
    struct api_answer answer;
    struct error ignored;
    if (!control || !control->needs_failpoints || *by->options->control_binary)
        return true;
    http_request_order_target(path, sizeof path, control->strategy, "");
    return api_post(by->harness->api, by->harness->fleet.urls[0], path, "", &answer, &ignored) &&
           strcmp(answer.says.code, "unknown_strategy") != 0;
}

static const char needed[] = "it needs a server with failpoints, by --control-binary";

static void say_left_out(const char *name, const char *reason)
{
    fprintf(stderr, "seckill-loadtest: left out: %s (%s)\n", name, reason);
}

static bool choose(const struct harness *harness, const char *name, struct row *out,
                   struct error *error)
{
    const struct fault_control *control = fault_find_control(name);
    const struct api_strategy *strategy = control ? NULL : harness_choose(harness, name, error);
    if (control)
        *out = row_of_control(control);
    else if (strategy)
        *out = (struct row){.strategy = *strategy};
    return control || strategy;
}

static bool add_cell(struct matrix *matrix, const struct fault *fault, const struct row *row,
                     struct error *error)
{
    struct cell *cell = array_add(&matrix->cells, &matrix->count, sizeof *cell);
    if (!cell)
        return error_fail(error, "out of memory");
    *cell = (struct cell){.fault = fault,
                          .strategy = row->strategy,
                          .control = row->control,
                          .expected = cell_expectation_of(fault, &row->strategy)};
    return true;
}

/* "redis-token/stall" */
static bool split(const struct harness *harness, const char *name, const char *flag,
                  struct row *row, const struct fault **fault, struct error *error)
{
    char first[64];
    const char *slash = strchr(name, '/');
    if (!slash || (size_t)(slash - name) >= sizeof first) {
        error_fail(error, "%s takes STRATEGY/FAULT, not '%s'", flag, name);
        return false;
    }
    snprintf(first, sizeof first, "%.*s", (int)(slash - name), name);
    if (!choose(harness, first, row, error))
        return false;
    *fault = fault_find(slash + 1, error);
    if (!*fault)
        error_prefix(error, "%s", flag);
    return *fault != NULL;
}

/* What `flag` names; of several, what cannot be run is left out. */
static bool add_named(struct matrix *matrix, const struct making *by, const char *name,
                      const char *flag, bool several, struct error *error)
{
    struct row row;
    const struct fault *fault = NULL;
    if (!split(by->harness, name, flag, &row, &fault, error))
        return false;
    if (can_run(by, row.control))
        return add_cell(matrix, fault, &row, error);
    if (!several)
        return error_fail(error, "%s: %s", row.strategy.name, needed);
    say_left_out(row.strategy.name, needed);
    return true;
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

static bool add_row(struct matrix *matrix, const struct faults_options *options,
                    const struct row *row, struct error *error)
{
    for (size_t i = 0; i < fault_count(); i++) {
        const struct fault *fault = fault_at(i);
        /* A control has a cell in its own column, and one where nothing is done. */
        bool has = !row->control || row->control == fault->own || fault == &fault_calm;
        if (has && is_asked_for(options, fault) &&
            (!options->promised || cell_expectation_of(fault, &row->strategy) == CELL_HOLDS) &&
            !add_cell(matrix, fault, row, error))
            return false;
    }
    return true;
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

/* What cannot be run is left out, and said so. */
static bool offer(struct matrix *matrix, const struct making *by, const struct row *row,
                  struct error *error)
{
    const char *reason = !row->strategy.available     ? row->strategy.unavailable_reason
                         : !can_run(by, row->control) ? needed
                                                      : NULL;
    if (reason)
        say_left_out(row->strategy.name, reason);
    return reason || add_row(matrix, by->options, row, error);
}

static bool add_everything(struct matrix *matrix, const struct making *by, struct error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < by->harness->strategies_count; i++)
        good = offer(matrix, by, &(struct row){.strategy = by->harness->strategies[i]}, error);
    for (size_t i = 0; good && i < fault_count(); i++) {
        const struct fault *fault = fault_at(i);
        if (!fault->own || !is_asked_for(by->options, fault))
            continue;
        const struct row row = row_of_control(fault->own);
        good = offer(matrix, by, &row, error);
    }
    return good;
}

static bool add_rows(struct matrix *matrix, const struct making *by, struct error *error)
{
    const struct faults_options *options = by->options;
    if (!knows_faults(options, error))
        return false;
    if (is_all(&options->strategies))
        return add_everything(matrix, by, error);
    for (size_t i = 0; i < options->strategies.count; i++) {
        struct row row;
        if (!choose(by->harness, options->strategies.items[i], &row, error))
            return false;
        if (!can_run(by, row.control))
            return error_fail(error, "%s: %s", row.strategy.name, needed);
        if (!add_row(matrix, options, &row, error))
            return false;
    }
    return true;
}

static bool expect(struct matrix *matrix, const struct harness *harness, const char *text,
                   struct error *error)
{
    char name[128];
    struct row row;
    const struct fault *fault = NULL;
    const char *equals = strchr(text, '=');
    bool holds = equals && strcmp(equals, "=holds") == 0;
    if (!equals || (!holds && strcmp(equals, "=breaks") != 0))
        return error_fail(error, "--expect takes STRATEGY/FAULT=holds or =breaks, not '%.80s'",
                          text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    if (!split(harness, name, "--expect", &row, &fault, error))
        return false;
    struct cell *cell = matrix_find(matrix, row.strategy.name, fault);
    if (cell)
        cell->expected = holds ? CELL_HOLDS : CELL_BREAKS;
    return true;
}

bool faults_plan_make(struct matrix *out, const struct faults_options *options,
                      const struct harness *harness, struct error *error)
{
    const struct making by = {harness, options};
    bool good = true;
    *out = (struct matrix){.seed = options->shared.seed, .runs = options->runs};
    if (*options->reproduce)
        good = add_named(out, &by, options->reproduce, "--reproduce", false, error);
    else if (options->short_form)
        for (size_t i = 0; good && i < sizeof short_cells / sizeof short_cells[0]; i++)
            good = add_named(out, &by, short_cells[i], "--short", true, error);
    else
        good = add_rows(out, &by, error);
    for (size_t i = 0; good && i < options->expect.count; i++)
        good = expect(out, harness, options->expect.items[i], error);
    if (good && out->count == 0)
        return error_fail(error, options->promised ? "no cell is held to a promise there"
                                                   : "there is no cell to run");
    return good;
}
