/*
 * `faults`: strategies × faults. Each cell is run as often as was asked for, a run that does not
 * count and a control that was not seen to fail some times more, with the next seeds. The seed
 * stands on the first line and on the last.
 *
 * Ctrl-C ends it: what is complete is printed and written, and nothing is left running or stopped.
 */
#include "loadtest/commands/commands.h"

#include "loadtest/commands/faults/faults_gate.h"
#include "loadtest/commands/faults/faults_plan.h"
#include "loadtest/faults/plan.h"
#include "loadtest/report/html/html_matrix.h"
#include "loadtest/report/matrix_report.h"

#include <inttypes.h>
#include <stdlib.h>

/* Runs of a cell beyond those that were asked for. */
enum { MORE_RUNS = 10 };

static void say_run(const struct cell *cell, const struct trial_result *result)
{
    static const char *const words[] = {
        [TRIAL_CLEAN] = "clean", [TRIAL_RED] = "RED", [TRIAL_INVALID] = "does not count"};
    fprintf(stderr, "seckill-loadtest: %s/%s, seed %" PRId64 ": %s%s%s; %s\n", cell->strategy.name,
            cell->fault->name, result->seed, words[result->verdict], *result->example ? ": " : "",
            result->example, result->evidence);
}

static bool is_enough(const struct cell *cell, int64_t runs, int64_t made)
{
    if (made >= runs + MORE_RUNS)
        return true;
    if (cell->expected == CELL_BREAKS && cell->red == 0)
        return false;
    return (int64_t)cell->runs >= runs;
}

/* A release has no test's strategies. */
static const char *server_of(const struct harness *harness, const struct cell *cell)
{
    bool other = cell->control && cell->control->needs_failpoints;
    return other && *harness->options->control_binary ? harness->options->control_binary
                                                      : harness->binary;
}

/* Everything that a run adds to. */
struct faults_run {
    struct harness harness;
    struct matrix matrix; /* owned: cells */
    struct faults_gate gate;
};

static bool run_cell(struct faults_run *run, struct cell *cell, struct error *error)
{
    const struct harness *harness = &run->harness;
    const struct matrix *matrix = &run->matrix;
    const struct options *options = harness->options;
    int64_t made = 0;
    while (!is_enough(cell, matrix->runs, made)) {
        struct trial_result result;
        const struct trial_plan plan = {.options = options,
                                        .fault = cell->fault,
                                        .strategy = &cell->strategy,
                                        .control = cell->control,
                                        .binary = server_of(harness, cell),
                                        .folder = harness->folder,
                                        .seed = matrix->seed + made++};
        if (!trial_run(&plan, &result, error))
            return error_prefix(error, "%s/%s", cell->strategy.name, cell->fault->name);
        cell_add(cell, &result);
        say_run(cell, &result);
        if (!faults_gate_add(&run->gate, cell, &result, error))
            return false;
    }
    return true;
}

static bool run_cells(struct faults_run *run, struct error *error)
{
    struct matrix *matrix = &run->matrix;
    for (size_t i = 0; i < matrix->count; i++) {
        struct cell *cell = &matrix->cells[i];
        if (cell->expected != CELL_NOTHING && !run_cell(run, cell, error)) {
            matrix->count = i; /* what is complete */
            return false;
        }
    }
    return true;
}

/* What strategies there are, the servers say. */
static bool prepare(struct harness *harness, struct matrix *matrix, struct error *error)
{
    return harness_open_fleet(harness, 1, error) && faults_plan_make(matrix, harness, error) &&
           harness_close_fleet(harness, error);
}

static int report(const struct faults_run *run)
{
    const char *folder = run->harness.folder;
    const struct matrix *matrix = &run->matrix;
    struct error error;
    matrix_print(stdout, matrix);
    int status = faults_gate_print(&run->gate, stdout, matrix_status(matrix));
    if (!matrix_write(folder, matrix, &error) || !html_write_matrix(folder, matrix, &error))
        return process_fail(error.text);
    printf("\nFiles: %s/faults.json, faults.md, and the ledgers of red runs\nReport: "
           "%s/report.html\n",
           folder, folder);
    return status;
}

int command_faults(const struct options *options)
{
    struct faults_run *run = calloc(1, sizeof *run);
    struct error error = {.text = ""};
    if (!run)
        return process_fail("out of memory");
    printf("seed %" PRId64 "\n", options->seed);
    fflush(stdout);
    bool begun = faults_gate_open(&run->gate, options, &error) &&
                 harness_init(&run->harness, options, &error) &&
                 prepare(&run->harness, &run->matrix, &error);
    if (*options->reproduce)
        run->matrix.runs = 1;
    bool made = begun && run_cells(run, &error);
    int status = begun && run->matrix.count > 0 ? report(run) : 2;
    if (!made) {
        process_fail(error.text);
        status = status == 1 ? 1 : 2;
    }
    if (!begun)
        run->matrix.count = 0;
    faults_gate_add_cases(&run->gate, &run->matrix, made ? NULL : error.text);
    if (!faults_gate_close(&run->gate, &error))
        status = process_fail(error.text);
    printf("seed %" PRId64 "\n", options->seed);
    free(run->matrix.cells);
    harness_fini(&run->harness);
    free(run);
    return status;
}
