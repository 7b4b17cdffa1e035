/* See faults_options.h. */
#include "loadtest/commands/faults/faults_options.h"

#include "loadtest/commands/sweep/sweep_options.h"

#include <string.h>

enum { FAULTS = COMMAND_FAULTS };

#define AT(member) offsetof(struct faults_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("strategies", FAULTS, OPTION_LIST, AT(strategies), "all", 0, 0, false, "a,b,...|all",
               "the matrix's rows; all: every one that the servers can run now"),
    OPTION_ROW("faults", FAULTS, OPTION_LIST, AT(faults), "all", 0, 0, false, "a,b,...|all",
               "the matrix's columns (below)"),
    OPTION_ROW("runs", FAULTS, OPTION_COUNT, AT(runs), "3", 1, 1000, false, "N",
               "how often each cell is run, with another seed each time"),
    OPTION_ROW("short", FAULTS, OPTION_SWITCH, AT(short_form), NULL, 0, 0, false, NULL,
               "only the cells that tell the strategies apart, one run of each"),
    OPTION_ROW("promised", FAULTS, OPTION_SWITCH, AT(promised), NULL, 0, 0, false, NULL,
               "only the cells that a promise is held to: more seeds for --join"),
    OPTION_ROW("reproduce", FAULTS, OPTION_TEXT, AT(reproduce), "", 0, 0, false, "STRATEGY/FAULT",
               "one run of one cell, with the schedule of --seed, and all that was found"),
    OPTION_ROW("join", FAULTS, OPTION_LIST, AT(join), NULL, 0, 0, false, "FOLDER,...",
               "break nothing: add up the runs of matrices made before, in one"),
    OPTION_ROW("stack", FAULTS, OPTION_TEXT, AT(stack), "", 0, 0, false, "COMMAND",
               "kills, starts and stops the private backends: scripts/stack.sh --dir DIR"),
    OPTION_ROW("control-binary", FAULTS, OPTION_TEXT, AT(control_binary), "", 0, 0, false, "PATH",
               "a seckill-server with failpoints, for the controls that a release has not"),
    OPTION_ROW("expect", FAULTS, OPTION_LIST, AT(expect), NULL, 0, 0, false,
               "CELL=holds|breaks,...", "expect something else of a cell than its promise says"),
    OPTION_ROW("system-name", FAULTS, OPTION_TEXT, AT(shared.system_name), "seckill-faults", 0, 0,
               false, "NAME",
               "the started servers' prefix of keys in Redis: every key with it is deleted"),
    OPTION_ROW("fail-if", FAULTS, OPTION_TEXT, AT(fail_if), "", 0, 0, false, "p99>250ms,failed>1%",
               "exit status 1 when one of these conditions is met (below)"),
    OPTION_ROW("junit", FAULTS, OPTION_TEXT, AT(junit), "", 0, 0, false, "FILE",
               "write cells, controls and --fail-if as JUnit's XML, for a pipeline"),
};

const struct option_table option_table_faults = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_sweep};

/* Nothing is run, so nothing that says how can be meant. */
static bool check_join(const struct faults_options *options, const struct option_given *given,
                       struct error *error)
{
    static const char *const idle[] = {"strategies", "faults",  "runs",           "short",
                                       "reproduce",  "stack",   "control-binary", "expect",
                                       "promised",   "fail-if", "seed",           "server-binary"};
    for (size_t i = 0; options->join.count > 0 && i < given->count; i++) {
        for (size_t j = 0; j < sizeof idle / sizeof idle[0]; j++) {
            if (strcmp(given->flags[i], idle[j]) == 0)
                return error_fail(error, "--%s is not for --join, which runs nothing", idle[j]);
        }
    }
    return true;
}

bool faults_options_settle(struct faults_options *options, const struct option_given *given,
                           struct error *error)
{
    return options_settle(&options->shared, error) && check_join(options, given, error);
}
