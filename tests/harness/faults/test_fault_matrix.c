/* Matrices by hand: what a cell says, which exit status follows, what --fail-if and a JUnit file
 * make of it; and in pieces: what was written is read as it was, pieces are added up, and what
 * cannot be added is refused, and said which cell it is. */
#include "lib/t.h"

#include "harness/fixtures/has.h"
#include "loadtest/commands/faults/faults.h"
#include "loadtest/report/matrix_report.h"

#include <stdlib.h>
#include <string.h>

static struct error error;

/* Runs from this seed on that were (c)lean, (r)ed or do not count (-). */
static struct cell cell_of(const char *strategy, const struct fault *fault,
                           enum cell_expectation expected, const char *runs, int64_t seed)
{
    struct cell cell = {.fault = fault, .expected = expected};
    snprintf(cell.strategy.name, sizeof cell.strategy.name, "%s", strategy);
    for (; *runs; runs++, seed++) {
        const struct trial_result result = {.verdict = *runs == 'c'   ? TRIAL_CLEAN
                                                       : *runs == 'r' ? TRIAL_RED
                                                                      : TRIAL_INVALID,
                                            .seed = seed};
        cell_add(&cell, &result);
    }
    return cell;
}

static struct cell stalled(enum cell_expectation expected, const char *runs)
{
    return cell_of("a", &fault_stall, expected, runs, 1);
}

TEST(a_cell_says_what_its_runs_say)
{
    const struct {
        struct cell cell;
        enum cell_verdict verdict;
    } cases[] = {
        {stalled(CELL_HOLDS, "ccc"), CELL_HELD},
        {stalled(CELL_HOLDS, "ccc--"), CELL_HELD},
        {stalled(CELL_HOLDS, "ccr"), CELL_CONTRADICTED},
        {stalled(CELL_HOLDS, "---"), CELL_INVALID}, /* it met nobody: not fine */
        {stalled(CELL_BREAKS, "r"), CELL_SEEN},
        {stalled(CELL_BREAKS, "ccccccccc"), CELL_INVALID}, /* a control that is never red */
        {stalled(CELL_MAY_BREAK, "ccc"), CELL_NOT_SEEN},
        {stalled(CELL_MAY_BREAK, "ccr"), CELL_SEEN},
        {stalled(CELL_NOTHING, ""), CELL_OUTSIDE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(cell_verdict(&cases[i].cell), cases[i].verdict);
}

static struct cell control(const char *runs)
{
    return cell_of("redis-token", &fault_stall, CELL_BREAKS, runs, 1);
}

TEST(the_exit_status_follows)
{
    const struct cell seen = control("cr"), held = stalled(CELL_HOLDS, "ccc"),
                      unmet = stalled(CELL_HOLDS, "---");
    const struct {
        struct cell cells[2];
        int status;
    } rows[] = {
        {{seen, held}, 0},
        {{seen, stalled(CELL_MAY_BREAK, "ccc")}, 0},
        {{seen, stalled(CELL_HOLDS, "ccr")}, 1},
        {{seen, unmet}, 2},
        {{held, held}, 2}, /* nobody known to fail was seen to */
        {{control("ccc"), held}, 2},
        {{unmet, stalled(CELL_HOLDS, "r")}, 1}, /* worse than what proves nothing */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cell cells[] = {rows[i].cells[0], rows[i].cells[1]};
        const struct matrix matrix = {.cells = cells, .count = 2};
        if (matrix_status(&matrix) != rows[i].status)
            fail_msg("row %zu: status %d", i, matrix_status(&matrix));
    }
}

/* Each cell is a case, and so is the column, whose cells prove nothing without its control. */
TEST(cells_and_columns_are_cases)
{
    static const char *const ends[] = {
        "stall\" time=\"0.000\"><system-out>held",
        "<failure message=\"CONTRADICTED, 1 of 3 runs red",
        "<error message=\"INVALID",
        "<skipped message=\"not concerned",
        "\"controls\" name=\"stall\" time=\"0.000\"><error message=\"none of its controls was",
        "seen to fail\" type=\"proves nothing\"",
    };
    struct cell cells[] = {stalled(CELL_HOLDS, "ccc"), stalled(CELL_HOLDS, "ccr"),
                           stalled(CELL_HOLDS, "---"), stalled(CELL_NOTHING, "")};
    const struct matrix matrix = {.cells = cells, .count = 4};
    struct junit junit;
    assert_true(junit_open(&junit, "/dev/null", &error));
    faults_add_cases(&junit, &matrix);
    fflush(junit.cases);
    HAS(junit, count, 5, counts[JUNIT_FAILED], 1, counts[JUNIT_ERROR], 2);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        t_says(junit.text, ends[i]);
    assert_true(junit_close(&junit, "faults", &error));
}

/* A run that does not count has nothing that could be judged. */
TEST(runs_that_count_are_judged)
{
    struct gate gate = {.count = 0};
    struct cell cell = stalled(CELL_HOLDS, "c");
    struct trial_result result = {
        .verdict = TRIAL_INVALID, .seed = 7, .measured = {.values = {[THRESHOLD_ORDERS] = 3}}};
    assert_true(thresholds_parse("fail-if", "orders>2", &gate.fail_if, &error));
    faults_judge(&gate, &cell, &result);
    assert_int_equal(gate.count, 0);
    result.verdict = TRIAL_CLEAN;
    faults_judge(&gate, &cell, &result);
    gate_print(t_print(), &gate);
    t_says(t_printed(), "\n  a/stall, seed 7: orders>2: 3 orders, 1 orders more\n");
    assert_int_equal(gate_exit_status(&gate, 0), 1);
    assert_true(gate_close(&gate, "faults", NULL, &error));
}

/* In pieces ----------------------------------------------------------------------------------- */

/* Those of a test, each with a faults.json. */
static struct option_list folders;

AFTER_EACH()
{
    folders.count = 0;
}

static const char *new_folder(void)
{
    return strcpy(folders.items[folders.count++], t_folder());
}

static void write_cells(struct cell *cells, size_t count, const char *server)
{
    struct matrix matrix = {.cells = cells, .count = count, .seed = 7, .runs = 2};
    struct machine machine = {.cores = 2};
    snprintf(machine.server, sizeof machine.server, "%s", server);
    matrix.made_on = matrix_made_on(&machine);
    assert_true(matrix_write(new_folder(), &matrix, &error));
    json_decref(matrix.made_on);
}

static void expect_refusal(const char *text)
{
    struct matrix matrix;
    assert_false(matrix_join_read(&folders, &matrix, &error));
    matrix_fini(&matrix);
    t_says(error.text, text);
}

TEST(what_was_written_is_read)
{
    static char written[2][1 << 16];
    struct matrix matrix;
    struct cell cell = cell_of("redis-token", &fault_stall, CELL_BREAKS, "crr-", 4);
    cell.violations[FINDING_OVERSOLD] = 3;
    cell.violations[FINDING_ABSENT] = 1;
    cell.longest_gap_us = 1234567;
    cell.first_after_us = -1;
    snprintf(cell.shown.evidence, sizeof cell.shown.evidence, "2 \"leases\" lapsed");
    snprintf(cell.shown.example, sizeof cell.shown.example, "A3 oversold, product 1000001: 多了");
    cell.shown.sales.steps[0] = 5;
    cell.shown.sales.steps[1] = 9;
    cell.shown.sales.count = 2;
    cell.shown.sales.shades[0] = (struct fault_interval){100, 900};
    cell.shown.sales.shades_count = 1;
    write_cells(&cell, 1, "1.0");
    assert_true(matrix_read(folders.items[0], &matrix, &error));
    assert_int_equal(matrix.count, 1);
    assert_ptr_equal(matrix.cells[0].fault, &fault_stall);
    HAS(matrix.cells[0], expected, CELL_BREAKS, red, 2, seeds[0].last, 7, shown.example,
        cell.shown.example);
    /* All the rest: written once more it is the same file. */
    assert_true(matrix_write(new_folder(), &matrix, &error));
    matrix_fini(&matrix);
    for (size_t i = 0; i < 2; i++)
        t_read(t_text("%s/faults.json", folders.items[i]), written[i], sizeof written[i]);
    assert_non_null(strstr(written[0], "\"longest_gap_us\": 1234567"));
    assert_string_equal(written[0], written[1]);
}

/* A column of another piece stands in its strategy's row, and its control proves it there. */
TEST(columns_of_other_pieces_stand_where_they_belong)
{
    struct matrix matrix;
    struct cell first[] = {cell_of("conditional", &fault_stall, CELL_HOLDS, "cc", 1),
                           cell_of("redis-token", &fault_stall, CELL_BREAKS, "rr", 1)};
    struct cell second[] = {cell_of("none", &fault_calm, CELL_BREAKS, "rr", 1),
                            cell_of("conditional", &fault_calm, CELL_HOLDS, "ccc", 1)};
    write_cells(first, 2, "1.0");
    write_cells(second, 2, "1.0");
    t_done(matrix_join_read(&folders, &matrix, &error), error);
    assert_int_equal(matrix.count, 4);
    assert_ptr_equal(matrix.cells[0].fault, &fault_calm);
    assert_string_equal(matrix.cells[0].strategy.name, "conditional");
    assert_ptr_equal(matrix.cells[1].fault, &fault_stall);
    HAS(matrix, cells[3].strategy.name, "none", joined, 2, runs, 2);
    assert_int_equal(matrix_status(&matrix), 0);
    matrix_fini(&matrix);
}

/* The second night has other seeds: one cell of all the runs, which shows the first red one. */
TEST(runs_of_one_cell_are_added_up)
{
    struct matrix matrix;
    struct cell cells[] = {cell_of("batch", &fault_stall, CELL_MAY_BREAK, "ccc-", 1),
                           cell_of("batch", &fault_stall, CELL_MAY_BREAK, "ccr", 5),
                           cell_of("batch", &fault_stall, CELL_MAY_BREAK, "ccrr", 101)};
    cells[0].longest_gap_us = 5;
    cells[0].first_after_us = 40;
    cells[1].first_after_us = 70;
    cells[2].first_after_us = -1;
    for (size_t i = 0; i < 3; i++) {
        cells[i].violations[FINDING_OVERSOLD] = i;
        snprintf(cells[i].shown.example, sizeof cells[i].shown.example, "example %zu", i);
        write_cells(&cells[i], 1, "1.0");
    }
    t_done(matrix_join_read(&folders, &matrix, &error), error);
    assert_int_equal(matrix.count, 1);
    const struct cell *cell = &matrix.cells[0];
    HAS(*cell, runs, 10, red, 3, invalid, 1, violations[FINDING_OVERSOLD], 3, longest_gap_us, 5);
    assert_int_equal(cell->first_after_us, -1); /* in one of them none came */
    assert_int_equal(cell->seeds_count, 2);     /* 1 to 7 is one stretch */
    HAS(*cell, seeds[0].last, 7, seeds[1].first, 101, shown.example, "example 1");
    matrix_fini(&matrix);
}

/* Three runs from seed 1 on hold, and these three cannot be added: a run would be counted twice,
 * both must expect the same, and be of one server. */
TEST(what_cannot_be_added_is_refused)
{
    static const struct {
        enum cell_expectation expected;
        int64_t seed;
        const char *server, *why;
    } rows[] = {
        {CELL_HOLDS, 3, "1.0", "batch/stall, seed 3: a run of it is in another one already"},
        {CELL_MAY_BREAK, 4, "1.0", "batch/stall: expected here: may break, in another one: holds"},
        {CELL_HOLDS, 4, "1.1", "is of another server (1.1) than those before it (1.0)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        folders.count = 0;
        write_cells((struct cell[]){cell_of("batch", &fault_stall, CELL_HOLDS, "ccc", 1)}, 1,
                    "1.0");
        write_cells(
            (struct cell[]){cell_of("batch", &fault_stall, rows[i].expected, "ccc", rows[i].seed)},
            1, rows[i].server);
        expect_refusal(rows[i].why);
    }
}

/* A cell that reads well, with one of its members put in another's place. */
TEST(a_damaged_file_is_refused)
{
    static const struct {
        const char *name, *value, *says;
    } rows[] = {
        {"strategy", "3", "\"strategy\" is not a text"},
        {"fault", "\"stal\"", "there is no fault 'stal'"},
        {"expected", "\"maybe\"", "'maybe', which is no expectation"},
        {"runs", "-1", "\"runs\" is not a whole number from 0 on"},
        {"runs", "2.5", "\"runs\" is not a whole number from 0 on"},
        {"red", "4", "4 runs were red, of 3"},
        {"not_counted", "null", "\"not_counted\" is not a whole number"},
        {"seeds", "null", "\"seeds\" is no list"},
        {"seeds", "[[1]]", "\"seeds\"[0] is not a first and a last one"},
        {"seeds", "[[1,2],[9,8]]", "\"seeds\"[1] is not a first and a last one"},
        {"violations", "[]", "\"violations\" is no object"},
        {"violations", "{\"theft\":1}", "has 'theft', which is none"},
        {"violations", "{\"oversold\":-1}", "\"oversold\" is not a whole number from 0 on"},
        {"longest_gap_us", "-5", "\"longest_gap_us\" is not"},
        {"first_after_heal_us", "-2", "\"first_after_heal_us\" is not a whole number from -1 on"},
        {"seed", "\"1\"", "\"seed\" is not"},
        {"evidence", "null", "\"evidence\" is not a text of at most"},
        {"example", "[]", "\"example\" is not a text"},
        {"timeline", "{}", "\"timeline\" has no list of at most 600 \"sales\""},
        {"timeline", "{\"sales\":[1,-1]}", "\"timeline\", \"sales\"[1] is no number of sales"},
        {"timeline", "{\"sales\":[1]}", "\"timeline\" has no list of at most"},
        {"timeline", "{\"sales\":[],\"faults\":[{}]}",
         "\"timeline\", \"faults\"[0]: \"begin_us\" is not"},
    };
    struct cell cell = cell_of("batch", &fault_stall, CELL_HOLDS, "ccc", 1);
    write_cells(&cell, 1, "1.0");
    const char *path = t_text("%s/faults.json", folders.items[0]);
    json_t *whole = json_load_file(path, 0, NULL);
    assert_non_null(whole);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *damaged = json_deep_copy(whole);
        json_t *value = json_loads(rows[i].value, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        json_object_set_new(json_array_get(json_object_get(damaged, "cells"), 0), rows[i].name,
                            value);
        assert_int_equal(json_dump_file(damaged, path, 0), 0);
        json_decref(damaged);
        expect_refusal("faults.json: cells[0]: ");
        expect_refusal(rows[i].says);
    }
    json_decref(whole);
}

TEST(what_is_no_matrix_is_refused)
{
    const char *path = t_text("%s/faults.json", new_folder());
    expect_refusal("faults.json: No such file or directory");
    t_write(path, "{\n\"cells\": [\n");
    expect_refusal("faults.json: line 3: ");
    t_write(path, "{\"runs\": []}");
    expect_refusal("it is no faults.json");
    t_write(path, "{\"cells\": [{}]}");
    expect_refusal("\"seed\" is not a whole number");
    t_write(path, "{\"cells\": [{}], \"seed\": 1, \"runs\": 3}");
    expect_refusal("cells[0]: \"strategy\" is not a text");
}
