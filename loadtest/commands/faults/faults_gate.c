/* See faults.h. */
#include "loadtest/commands/faults/faults.h"

#include "loadtest/base/pool.h"

#include <inttypes.h>
#include <stdlib.h>

bool faults_gate_add(struct faults_gate *gate, const struct cell *cell,
                     const struct trial_result *result, struct error *error)
{
    if (result->verdict == TRIAL_INVALID)
        return true;
    struct gate_load *run = array_add(&gate->runs, &gate->count, sizeof *run);
    if (!run)
        return error_fail(error, "out of memory");
    run->measured = result->measured;
    snprintf(run->name, sizeof run->name, "%s/%s, seed %" PRId64, cell->strategy.name,
             cell->fault->name, result->seed);
    return true;
}

int faults_gate_print(const struct faults_gate *gate, FILE *to, int status)
{
    struct gate judged;
    gate_print_loads(to, &gate->fail_if, gate->runs, gate->count, &judged);
    return gate_exit_status(&judged, status);
}

static void add_cell(struct junit *junit, const struct cell *cell)
{
    static const enum junit_outcome outcomes[] = {
        [CELL_HELD] = JUNIT_PASSED,     [CELL_SEEN] = JUNIT_PASSED,
        [CELL_NOT_SEEN] = JUNIT_PASSED, [CELL_OUTSIDE] = JUNIT_SKIPPED,
        [CELL_INVALID] = JUNIT_ERROR,   [CELL_CONTRADICTED] = JUNIT_FAILED};
    enum cell_verdict verdict = cell_verdict(cell);
    const char *name = cell_verdict_name(verdict);
    struct junit_case one = junit_case_of(cell->strategy.name, cell->fault->name);
    junit_end(&one, outcomes[verdict], name, "%s, %zu of %zu runs red%s%s", name, cell->red,
              cell->runs, *cell->shown.example ? ": " : "", cell->shown.example);
    junit_add(junit, &one);
}

static bool has_column(const struct matrix *matrix, const struct fault *fault)
{
    for (size_t i = 0; i < matrix->count; i++) {
        if (matrix->cells[i].fault == fault && cell_verdict(&matrix->cells[i]) != CELL_OUTSIDE)
            return true;
    }
    return false;
}

/* A column whose control was not seen to fail proves nothing of its cells. */
static void add_column(struct junit *junit, const struct matrix *matrix, const struct fault *fault)
{
    struct junit_case one = junit_case_of("controls", fault->name);
    if (!has_column(matrix, fault))
        return;
    if (!matrix_proves(matrix, fault))
        junit_end(&one, JUNIT_ERROR, "proves nothing", "none of its controls was seen to fail");
    junit_add(junit, &one);
}

void faults_gate_add_cases(struct faults_gate *gate, const struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        add_cell(&gate->junit, &matrix->cells[i]);
    for (size_t i = 0; i < fault_count(); i++)
        add_column(&gate->junit, matrix, fault_at(i));
    for (size_t i = 0; i < gate->count; i++)
        gate_add_load(&gate->junit, gate->runs[i].name, &gate->fail_if, &gate->runs[i].measured);
}

bool faults_gate_close(struct faults_gate *gate, const char *ended, struct error *error)
{
    bool written = gate_close(&gate->junit, "faults", ended, error);
    free(gate->runs);
    *gate = (struct faults_gate){0};
    return written;
}
