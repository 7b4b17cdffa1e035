/* What --fail-if and a JUnit file make of a matrix, by hand: which runs are judged, and which cell
 * and column passes, fails or cannot be judged. */
#include "lib/t.h"

#include "harness/faults/cell_runs.h"
#include "loadtest/commands/faults/faults.h"

#include <string.h>

/* Each cell is a case, and so is the column, whose cells prove nothing without its control. */
TEST(cells_and_columns_are_cases)
{
    static const enum junit_outcome outcomes[] = {JUNIT_PASSED, JUNIT_FAILED, JUNIT_ERROR,
                                                  JUNIT_SKIPPED, JUNIT_ERROR};
    struct cell cells[] = {cell_runs(CELL_HOLDS, 3, 0, 0), cell_runs(CELL_HOLDS, 2, 1, 0),
                           cell_runs(CELL_HOLDS, 0, 0, 3), cell_runs(CELL_NOTHING, 0, 0, 0)};
    const struct matrix matrix = {.cells = cells, .count = 4};
    struct faults_gate gate = {.count = 0};
    struct error error;
    assert_true(junit_open(&gate.junit, "/dev/null", &error));
    faults_gate_add_cases(&gate, &matrix);
    assert_int_equal(gate.junit.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(gate.junit.cases[i].outcome, outcomes[i]);
    assert_string_equal(gate.junit.cases[1].type, "CONTRADICTED");
    assert_string_equal(gate.junit.cases[4].group, "controls");
    assert_string_equal(gate.junit.cases[4].type, "proves nothing");
    assert_true(faults_gate_close(&gate, NULL, &error));
}

/* A run that does not count has nothing that could be judged. */
TEST(runs_that_count_are_judged)
{
    struct faults_gate gate = {.count = 0};
    struct cell cell = cell_runs(CELL_HOLDS, 1, 0, 0);
    struct error error;
    struct trial_result result = {
        .verdict = TRIAL_INVALID, .seed = 7, .measured = {.values = {[THRESHOLD_ORDERS] = 3}}};
    assert_true(thresholds_parse("fail-if", "orders>2", &gate.fail_if, &error));
    FILE *to = tmpfile();
    assert_non_null(to);
    assert_true(faults_gate_add(&gate, &cell, &result, &error));
    assert_int_equal(faults_gate_print(&gate, to, 2), 2);
    result.verdict = TRIAL_CLEAN;
    assert_true(faults_gate_add(&gate, &cell, &result, &error));
    assert_int_equal(faults_gate_print(&gate, to, 0), 1);
    fclose(to);
    assert_int_equal(gate.count, 1);
    assert_non_null(strstr(gate.runs[0].name, ", seed 7"));
    assert_true(faults_gate_close(&gate, NULL, &error));
}
