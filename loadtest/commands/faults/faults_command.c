/*
 * `faults`: strategies × faults. Each cell is run as often as was asked for, a run that does not
 * count and a control that was not seen to fail some times more, with the next seeds. The seed
 * stands on the first line and on the last.
 *
 * Ctrl-C ends it: what is complete is printed and written, and nothing is left running or stopped.
 */
#include "loadtest/commands/line/command_line.h"

#include "loadtest/base/pool.h"
#include "loadtest/commands/faults/faults.h"
#include "loadtest/report/files.h"
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

/* Everything that a run adds to. */
struct faults_run {
    const struct faults_options *options; /* borrowed */
    struct harness harness;
    struct matrix matrix; /* owned: cells */
    struct gate gate;
};

void faults_judge(struct gate *gate, const struct cell *cell, const struct trial_result *result)
{
    char name[sizeof((struct gate_load *)NULL)->group];
    if (result->verdict == TRIAL_INVALID)
        return;
    snprintf(name, sizeof name, "%s/%s, seed %" PRId64, cell->strategy.name, cell->fault->name,
             result->seed);
    gate_judge(gate, name, name, &result->measured);
}

/* A release has no test's strategies. */
static const char *server_of(const struct faults_run *run, const struct cell *cell)
{
    bool other = cell->control && cell->control->needs_failpoints;
    return other && *run->options->control_binary ? run->options->control_binary
                                                  : run->harness.binary;
}

static bool run_cell(struct faults_run *run, struct cell *cell, struct error *error)
{
    const struct matrix *matrix = &run->matrix;
    int64_t made = 0;
    while (!is_enough(cell, matrix->runs, made)) {
        struct trial_result result;
        const struct trial_plan plan = {.options = &run->options->shared,
                                        .fault = cell->fault,
                                        .strategy = &cell->strategy,
                                        .control = cell->control,
                                        .binary = server_of(run, cell),
                                        .folder = run->harness.folder,
                                        .stack = run->options->stack,
                                        .seed = matrix->seed + made++};
        if (!trial_run(&plan, &result, error))
            return error_prefix(error, "%s/%s", cell->strategy.name, cell->fault->name);
        cell_add(cell, &result);
        say_run(cell, &result);
        faults_judge(&run->gate, cell, &result);
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

static void add_cell(struct junit *junit, const struct cell *cell)
{
    static const enum junit_outcome outcomes[] = {
        [CELL_HELD] = JUNIT_PASSED,     [CELL_SEEN] = JUNIT_PASSED,
        [CELL_NOT_SEEN] = JUNIT_PASSED, [CELL_OUTSIDE] = JUNIT_SKIPPED,
        [CELL_INVALID] = JUNIT_ERROR,   [CELL_CONTRADICTED] = JUNIT_FAILED};
    enum cell_verdict verdict = cell_verdict(cell);
    const char *name = cell_verdict_name(verdict);
    struct junit_case one = {.group = cell->strategy.name, .name = cell->fault->name};
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
    struct junit_case one = {.group = "controls", .name = fault->name};
    if (!matrix_proves(matrix, fault))
        junit_end(&one, JUNIT_ERROR, "proves nothing", "none of its controls was seen to fail");
    junit_add(junit, &one);
}

void faults_add_cases(struct junit *junit, const struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        add_cell(junit, &matrix->cells[i]);
    for (size_t i = 0; i < fault_count(); i++)
        if (has_column(matrix, fault_at(i)))
            add_column(junit, matrix, fault_at(i));
}

/* The exit status. */
static int report(struct faults_run *run)
{
    const struct matrix *matrix = &run->matrix;
    const char *folder = run->harness.folder;
    struct error error;
    matrix_print(stdout, matrix);
    gate_print(stdout, &run->gate);
    int status = gate_exit_status(&run->gate, matrix_status(matrix));
    if (!matrix_write(folder, matrix, &error))
        return process_fail(error.text);
    printf("\nFiles: %s/faults.json, faults.md%s\nReport: %s/report.html\n", folder,
           matrix->joined ? "" : ", and the ledgers of red runs", folder);
    return status;
}

/* Joins the cells of earlier runs; nothing is started. */
static bool join(struct faults_run *run, int *status, struct error *error)
{
    struct harness *harness = &run->harness;
    bool made_folder;
    bool joined = matrix_join_read(&run->options->join, &run->matrix, error) &&
                  files_make_folder(run->options->shared.out, harness->folder,
                                    sizeof harness->folder, &made_folder, error);
    if (joined)
        *status = report(run);
    else
        run->matrix.count = 0;
    return joined;
}

static bool break_things(struct faults_run *run, int *status, struct error *error)
{
    const struct faults_options *options = run->options;
    printf("seed %" PRId64 "\n", options->shared.seed);
    fflush(stdout);
    /* What strategies there are, the servers say. */
    bool begun = harness_init(&run->harness, &options->shared, error) &&
                 harness_open_fleet(&run->harness, 1, error) &&
                 faults_plan_make(&run->matrix, options, &run->harness, error) &&
                 harness_close_fleet(&run->harness, error);
    if (!begun)
        run->matrix.count = 0;
    bool made = begun && run_cells(run, error);
    run->matrix.made_on = matrix_made_on(&run->harness.machine);
    if (run->matrix.count > 0)
        *status = report(run);
    printf("seed %" PRId64 "\n", options->shared.seed);
    return made;
}

int command_faults(const struct faults_options *options)
{
    struct faults_run *run = memory_take(sizeof *run);
    struct error error = {.text = ""};
    int status = 2;
    run->options = options;
    bool made =
        gate_open(&run->gate, &options->shared, &error) &&
        (options->join.count > 0 ? join(run, &status, &error) : break_things(run, &status, &error));
    status = harness_status(made, status, &error);
    faults_add_cases(&run->gate.junit, &run->matrix);
    if (!gate_close(&run->gate, "faults", made ? NULL : error.text, &error))
        status = process_fail(error.text);
    matrix_fini(&run->matrix);
    harness_fini(&run->harness);
    free(run);
    return status;
}
