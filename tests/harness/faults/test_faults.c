/*
 * `faults` on real servers: a contradicted expectation is an exit status, names that it does not
 * know are refused before anything is done, and Ctrl-C leaves nothing running or stopped.
 */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULTS "faults "

TEST(unknown_names_are_refused_with_the_nearest)
{
    program_tells(2, FAULTS "--faults stal", "--faults: there is no fault 'stal'");
    program_says("stall");
    program_tells(2, FAULTS "--strategies conditionnal", "conditional");
    program_tells(2, FAULTS "--reproduce conditional", "--reproduce takes STRATEGY/FAULT");
    program_tells(2, FAULTS "--reproduce conditional/kil", "kill");
    program_tells(2, FAULTS "--expect conditional/kill=perhaps", "--expect takes");
}

/* The control of a column, held to what it does not promise: the matrix must fail. */
TEST(a_contradiction_is_the_exit_status)
{
    program_tells(1,
                  FAULTS "--strategies redis-token --faults forget --runs 1 "
                         "--expect redis-token/forget=holds",
                  "CONTRADICTED");
    program_says("A1 conservation");
}

/* As it stands, the same cell is as expected; the seed is the first word and the last. */
TEST(a_cell_is_reproduced)
{
    program_tells(0, FAULTS "--reproduce redis-token/forget --seed 5", "seed 5\n");
    program_says("fails, as stated");
    program_says("keys in all");
    const char *last = strrchr(program->output, 's');
    assert_non_null(last);
    assert_string_equal(last, "seed 5\n");
}

/* The cell is as expected, and what a pipeline asks for besides does not hold. */
TEST(a_threshold_that_failed_is_the_exit_status)
{
    program_tells(1,
                  t_text(FAULTS "--reproduce redis-token/forget --fail-if max>1000s,orders>0 "
                                "--junit %s",
                         program_path("junit.xml")),
                  "fails, as stated");
    program_says("Thresholds (--fail-if)\n  redis-token/forget, seed ");
    program_says(": orders>0: ");
    program_file_says("junit.xml",
                      "<testcase classname=\"redis-token\" name=\"forget\" time=\"0.000\">"
                      "<system-out>fails, as stated");
    program_file_says("junit.xml",
                      "<testcase classname=\"controls\" name=\"forget\" time=\"0.000\"/>");
    program_file_says("junit.xml", "name=\"max&gt;1000s\" time=\"0.000\"><system-out>");
    program_file_says("junit.xml", "name=\"orders&gt;0\" time=\"0.000\"><failure ");
}

TEST(what_is_wrong_with_a_threshold_is_said_first)
{
    program_tells(2, FAULTS "--fail-if p99>250", "--fail-if: character 8: p99 is a time");
    program_tells(2, FAULTS "--junit /nowhere/junit.xml",
                  "--junit: cannot write /nowhere/junit.xml");
    program_exits(2, t_text(FAULTS "--faults stal --junit %s", program_path("junit.xml")));
    program_file_says("junit.xml", "<error message=\"--faults: there is no fault");
}

/* One piece has the control and the other what is held to it: alone the second proves nothing. */
TEST(pieces_are_joined)
{
    const char *second = program_path("faults.json"), *first = program_path("first.json");
    program_exits(0, FAULTS "--reproduce redis-token/forget --seed 5");
    assert_int_equal(rename(second, first), 0);
    program_tells(2,
                  FAULTS "--strategies redis-token,redis-fenced --promised "
                         "--faults forget --runs 1",
                  "redis-fenced/forget: expected: holds; held.");
    program_says("forget proves nothing");
    program_says("0/1 held");
    assert_null(strstr(program->output, "redis-token/forget"));
    program_tells(0, t_text("faults --join %s,%s", second, first),
                  "forget is proven: redis-token broke, as it has to (1 of 1 runs)");
    program_says("redis-fenced/forget: expected: holds; held.");
    program_file_says("report.html", "2 <span");
    program_tells(2, t_text("faults --join %s,%s", first, first),
                  "redis-token/forget, seed 5: a run of it is in another one already");
    program_tells(2, FAULTS "--strategies redis-token --promised --faults forget",
                  "no cell is held to a promise there");
    program_tells(2, "faults --join a --runs 2", "--runs is not for --join, which runs nothing");
}

/* A line of the process's own; "": it is not there. */
static const char *proc_of(pid_t pid, const char *name)
{
    static char line[512];
    FILE *file = fopen(t_text("/proc/%d/%s", (int)pid, name), "r");
    if (!file || !fgets(line, sizeof line, file))
        *line = '\0';
    if (file)
        fclose(file);
    return line;
}

static bool is_stopped(pid_t pid)
{
    return strstr(proc_of(pid, "stat"), ") T ") != NULL;
}

/* In the very moment in which one of its servers stands still. */
TEST(an_interrupt_leaves_nothing_running)
{
    struct process process;
    pid_t servers[2] = {0, 0};
    program_start(FAULTS "--strategies none --faults stall --runs 100", &process);
    char children[40];
    snprintf(children, sizeof children, "task/%d/children", (int)process.pid);
    T_UNTIL(sscanf(proc_of(process.pid, children), "%d %d", &servers[0], &servers[1]) == 2 &&
            (is_stopped(servers[0]) || is_stopped(servers[1])));
    kill(process.pid, SIGINT);
    assert_int_equal(program_finish(&process), 2);
    program_says("interrupted");
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(kill(servers[i], 0), -1);
}

TEST_EACH(program_alone, program_end)
