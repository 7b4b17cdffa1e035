/* See matrix.h. */
#include "loadtest/faults/matrix.h"

enum cell_expectation cell_expectation_of(const struct fault *fault,
                                          const struct api_strategy *strategy)
{
    if (fault->concerns && !fault->concerns(strategy))
        return CELL_NOTHING;
    if (fault_has_control(fault, strategy->name))
        return CELL_BREAKS;
    return fault_is_promised(fault, &strategy->promise) ? CELL_HOLDS : CELL_MAY_BREAK;
}

static int64_t later(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a > b ? a : b;
}

void cell_add(struct cell *cell, const struct trial_result *result)
{
    if (result->verdict == TRIAL_INVALID) {
        cell->invalid++;
        if (cell->runs == 0)
            cell->shown = *result;
        return;
    }
    bool is_red = result->verdict == TRIAL_RED;
    if (cell->red == 0)
        cell->shown = *result;
    cell->runs++;
    cell->red += is_red;
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        cell->violations[i] += result->violations[i];
    if (result->sales.longest_gap_us > cell->longest_gap_us)
        cell->longest_gap_us = result->sales.longest_gap_us;
    cell->first_after_us = later(cell->first_after_us, result->sales.first_after_us);
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
