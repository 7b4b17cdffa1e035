/* See matrix.h. */
#include "loadtest/faults/matrix.h"

#include "loadtest/base/pool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum cell_expectation cell_expectation_of(const struct fault *fault,
                                          const struct api_strategy *strategy)
{
    const bool promised[] = {[FAULT_ASKS_MANY] = strategy->promise.many_instances,
                             [FAULT_ASKS_PAUSED] = strategy->promise.paused_holder,
                             [FAULT_ASKS_FORGETS] = strategy->promise.redis_failover};
    if (fault->concerns && !fault->concerns(strategy))
        return CELL_NOTHING;
    if (fault_has_control(fault, strategy->name))
        return CELL_BREAKS;
    return promised[fault->asks] ? CELL_HOLDS : CELL_MAY_BREAK;
}

/* A stretch goes on, or a new one begins. False: there are too many. */
static bool add_seeds(struct cell *cell, struct seeds seeds)
{
    struct seeds *end = cell->seeds_count ? &cell->seeds[cell->seeds_count - 1] : NULL;
    if (end && end->last + 1 == seeds.first)
        end->last = seeds.last;
    else if (cell->seeds_count < CELL_SEEDS_MAX)
        cell->seeds[cell->seeds_count++] = seeds;
    else
        return false;
    return true;
}

/* All but the seeds: the counts, the worst, and the first red run, or else the last that counts. */
static void add_up(struct cell *to, const struct cell *from)
{
    if (to->red == 0 && (from->runs > 0 || to->runs == 0))
        to->shown = from->shown;
    to->runs += from->runs;
    to->red += from->red;
    to->invalid += from->invalid;
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        to->violations[i] += from->violations[i];
    if (from->longest_gap_us > to->longest_gap_us)
        to->longest_gap_us = from->longest_gap_us;
    if (from->runs > 0)
        to->first_after_us = sales_longer(to->first_after_us, from->first_after_us);
}

void cell_add(struct cell *cell, const struct trial_result *result)
{
    struct cell one = {.invalid = 1, .shown = *result};
    (void)add_seeds(cell, (struct seeds){result->seed, result->seed});
    if (result->verdict != TRIAL_INVALID) {
        one.invalid = 0;
        one.runs = 1;
        one.red = result->verdict == TRIAL_RED;
        one.longest_gap_us = result->sales.longest_gap_us;
        one.first_after_us = result->sales.first_after_us;
        memcpy(one.violations, result->violations, sizeof one.violations);
    }
    add_up(cell, &one);
}

enum cell_verdict cell_verdict(const struct cell *cell)
{
    if (cell->expected == CELL_NOTHING)
        return CELL_OUTSIDE;
    if (cell->red > 0)
        return cell->expected == CELL_HOLDS ? CELL_CONTRADICTED : CELL_SEEN;
    if (cell->runs == 0 || cell->expected == CELL_BREAKS)
        return CELL_INVALID;
    return cell->expected == CELL_HOLDS ? CELL_HELD : CELL_NOT_SEEN;
}

const char *cell_verdict_name(enum cell_verdict verdict)
{
    static const char *const names[] = {
        [CELL_HELD] = "held",         [CELL_SEEN] = "fails, as stated",
        [CELL_NOT_SEEN] = "not seen", [CELL_OUTSIDE] = "not concerned",
        [CELL_INVALID] = "INVALID",   [CELL_CONTRADICTED] = "CONTRADICTED"};
    return names[verdict];
}

const char *cell_expectation_name(enum cell_expectation expectation)
{
    static const char *const names[] = {[CELL_HOLDS] = "holds",
                                        [CELL_BREAKS] = "breaks",
                                        [CELL_MAY_BREAK] = "may break",
                                        [CELL_NOTHING] = "nothing"};
    return names[expectation];
}

struct cell *matrix_find(const struct matrix *matrix, const char *strategy,
                         const struct fault *fault)
{
    for (size_t i = 0; i < matrix->count; i++) {
        struct cell *cell = &matrix->cells[i];
        if (cell->fault == fault && strcmp(cell->strategy.name, strategy) == 0)
            return cell;
    }
    return NULL;
}

bool matrix_proves(const struct matrix *matrix, const struct fault *fault)
{
    for (size_t i = 0; i < matrix->count; i++) {
        const struct cell *cell = &matrix->cells[i];
        if (cell->fault == fault && cell->red > 0 && fault_has_control(fault, cell->strategy.name))
            return true;
    }
    return false;
}

int matrix_status(const struct matrix *matrix)
{
    int status = 0;
    for (size_t i = 0; i < matrix->count; i++) {
        enum cell_verdict verdict = cell_verdict(&matrix->cells[i]);
        if (verdict == CELL_CONTRADICTED)
            return 1;
        if (verdict == CELL_OUTSIDE)
            continue;
        if (verdict == CELL_INVALID || !matrix_proves(matrix, matrix->cells[i].fault))
            status = 2;
    }
    return status;
}

void matrix_fini(struct matrix *matrix)
{
    free(matrix->cells);
    json_decref(matrix->made_on);
}

static size_t column_of(const struct fault *fault)
{
    size_t column = 0;
    while (fault_at(column) != fault)
        column++;
    return column;
}

/* Where a cell that the matrix has not belongs: in its strategy's row, in the columns' order. */
static size_t place_of(const struct matrix *matrix, const struct cell *cell)
{
    size_t place = matrix->count;
    for (size_t i = 0; i < matrix->count; i++) {
        const struct cell *other = &matrix->cells[i];
        if (strcmp(other->strategy.name, cell->strategy.name) != 0)
            continue;
        if (column_of(other->fault) > column_of(cell->fault))
            return i;
        place = i + 1;
    }
    return place;
}

static void insert(struct matrix *matrix, const struct cell *cell)
{
    size_t place = place_of(matrix, cell);
    struct cell *end = array_add(&matrix->cells, &matrix->count, sizeof *cell);
    struct cell *into = &matrix->cells[place];
    memmove(into + 1, into, (size_t)(end - into) * sizeof *into);
    *into = *cell;
}

/* A run that is counted twice says less than two. */
static bool have_no_seed_in_common(const struct cell *a, const struct cell *b, struct error *error)
{
    for (size_t i = 0; i < a->seeds_count; i++) {
        for (size_t j = 0; j < b->seeds_count; j++) {
            int64_t first =
                a->seeds[i].first > b->seeds[j].first ? a->seeds[i].first : b->seeds[j].first;
            if (first <= a->seeds[i].last && first <= b->seeds[j].last)
                return error_fail(error,
                                  "%s/%s, seed %" PRId64 ": a run of it is in another one already",
                                  a->strategy.name, a->fault->name, first);
        }
    }
    return true;
}

static bool merge(struct cell *to, const struct cell *from, struct error *error)
{
    if (to->expected != from->expected)
        return error_fail(error, "%s/%s: expected here: %s, in another one: %s",
                          from->strategy.name, from->fault->name,
                          cell_expectation_name(from->expected),
                          cell_expectation_name(to->expected));
    if (!have_no_seed_in_common(to, from, error))
        return false;
    for (size_t i = 0; i < from->seeds_count; i++) {
        if (!add_seeds(to, from->seeds[i]))
            return error_fail(error, "%s/%s: more than %d stretches of seeds", from->strategy.name,
                              from->fault->name, CELL_SEEDS_MAX);
    }
    add_up(to, from);
    return true;
}

static int64_t least_runs(const struct matrix *matrix)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < matrix->count; i++) {
        const struct cell *cell = &matrix->cells[i];
        if (cell->expected != CELL_NOTHING && (int64_t)cell->runs < least)
            least = (int64_t)cell->runs;
    }
    return least == INT64_MAX ? 0 : least;
}

bool matrix_join(struct matrix *to, const struct matrix *from, struct error *error)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct cell *cell = &from->cells[i];
        struct cell *same = matrix_find(to, cell->strategy.name, cell->fault);
        if (!same)
            insert(to, cell);
        else if (!merge(same, cell, error))
            return false;
    }
    if (to->joined++ == 0) {
        to->seed = from->seed;
        to->made_on = json_incref(from->made_on);
    }
    to->runs = least_runs(to);
    return true;
}
