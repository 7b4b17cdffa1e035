/*
 * `faults` on real servers: a contradicted expectation is an exit status, names that it does not
 * know are refused before anything is done, and Ctrl-C leaves nothing running or stopped.
 */
#include "lib/t.h"

#include "harness/bed/own_bed.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULTS "faults --server-binary " SERVER " "

static void unknown_names_are_refused_with_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(bed_run(bed, FAULTS "--faults stal"), 2);
    own_bed_says("--faults: there is no fault 'stal'");
    own_bed_says("stall");
    assert_int_equal(bed_run(bed, FAULTS "--strategies conditionnal"), 2);
    own_bed_says("conditional");
    assert_int_equal(bed_run(bed, FAULTS "--reproduce conditional"), 2);
    own_bed_says("--reproduce takes STRATEGY/FAULT");
    assert_int_equal(bed_run(bed, FAULTS "--reproduce conditional/kil"), 2);
    own_bed_says("kill");
    assert_int_equal(bed_run(bed, FAULTS "--expect conditional/kill=perhaps"), 2);
    own_bed_says("--expect takes");
}

/* The control of a column, held to what it does not promise: the matrix must fail. */
static void a_contradiction_is_the_exit_status(void **state)
{
    (void)state;
    assert_int_equal(bed_run(bed, FAULTS "--strategies redis-token --faults forget --runs 1 "
                                         "--expect redis-token/forget=holds"),
                     1);
    own_bed_says("CONTRADICTED");
    own_bed_says("A1 conservation");
}

/* As it stands, the same cell is as expected; the seed is the first word and the last. */
static void a_cell_is_reproduced(void **state)
{
    (void)state;
    assert_int_equal(bed_run(bed, FAULTS "--reproduce redis-token/forget --seed 5"), 0);
    own_bed_says("seed 5\n");
    own_bed_says("fails, as stated");
    own_bed_says("keys in all");
    const char *last = strrchr(bed->output, 's');
    assert_non_null(last);
    assert_string_equal(last, "seed 5\n");
}

/* The cell is as expected, and what a pipeline asks for besides does not hold. */
static void a_threshold_that_failed_is_the_exit_status(void **state)
{
    (void)state;
    char arguments[600], junit[100];
    snprintf(junit, sizeof junit, "%s/junit.xml", bed->folder);
    snprintf(arguments, sizeof arguments,
             FAULTS "--reproduce redis-token/forget --fail-if max>1000s,orders>0 --junit %s",
             junit);
    assert_int_equal(bed_run(bed, arguments), 1);
    own_bed_says("fails, as stated");
    own_bed_says("Thresholds (--fail-if)\n  redis-token/forget, seed ");
    own_bed_says(": orders>0: ");
    own_bed_file_says("junit.xml",
                      "<testcase classname=\"redis-token\" name=\"forget\" time=\"0.000\">"
                      "<system-out>fails, as stated");
    own_bed_file_says("junit.xml",
                      "<testcase classname=\"controls\" name=\"forget\" time=\"0.000\"/>");
    own_bed_file_says("junit.xml", "name=\"max&gt;1000s\" time=\"0.000\"><system-out>");
    own_bed_file_says("junit.xml", "name=\"orders&gt;0\" time=\"0.000\"><failure ");
}

static void what_is_wrong_with_a_threshold_is_said_first(void **state)
{
    (void)state;
    char arguments[400], junit[100];
    assert_int_equal(bed_run(bed, FAULTS "--fail-if p99>250"), 2);
    own_bed_says("--fail-if: character 8: p99 is a time");
    assert_int_equal(bed_run(bed, FAULTS "--junit /nowhere/junit.xml"), 2);
    own_bed_says("--junit: cannot write /nowhere/junit.xml");
    snprintf(junit, sizeof junit, "%s/junit.xml", bed->folder);
    snprintf(arguments, sizeof arguments, FAULTS "--faults stal --junit %s", junit);
    assert_int_equal(bed_run(bed, arguments), 2);
    own_bed_file_says("junit.xml", "<error message=\"--faults: there is no fault");
}

/* Nobody who is known to fail takes part: the column proves nothing. */
static void a_column_without_a_control_proves_nothing(void **state)
{
    (void)state;
    assert_int_equal(bed_run(bed, FAULTS "--strategies redis-fenced --faults forget --runs 1"), 2);
    own_bed_says("forget proves nothing");
    own_bed_says("0/1 held");
}

/* One piece has the control and the other what is held to it: alone the second proves nothing. */
static void pieces_are_joined(void **state)
{
    (void)state;
    char arguments[400], first[100];
    assert_int_equal(bed_run(bed, FAULTS "--reproduce redis-token/forget --seed 5"), 0);
    snprintf(arguments, sizeof arguments, "%s/faults.json", bed->folder);
    snprintf(first, sizeof first, "%s/first.json", bed->folder);
    assert_int_equal(rename(arguments, first), 0);
    assert_int_equal(bed_run(bed, FAULTS "--strategies redis-token,redis-fenced --promised "
                                         "--faults forget --runs 1"),
                     2);
    own_bed_says("redis-fenced/forget: expected: holds; held.");
    assert_null(strstr(bed->output, "redis-token/forget"));
    snprintf(arguments, sizeof arguments, "faults --join %s/faults.json,%s", bed->folder, first);
    assert_int_equal(bed_run(bed, arguments), 0);
    own_bed_says("forget is proven: redis-token broke, as it has to (1 of 1 runs)");
    own_bed_says("redis-fenced/forget: expected: holds; held.");
    own_bed_file_says("report.html", "2 <span");
    snprintf(arguments, sizeof arguments, "faults --join %s,%s", first, first);
    assert_int_equal(bed_run(bed, arguments), 2);
    own_bed_says("redis-token/forget, seed 5: a run of it is in another one already");
    assert_int_equal(bed_run(bed, FAULTS "--strategies redis-token --promised --faults forget"), 2);
    own_bed_says("no cell is held to a promise there");
    assert_int_equal(bed_run(bed, "faults --join a --runs 2"), 2);
    own_bed_says("--runs is not for --join, which runs nothing");
}

/* The harness's children, two at most; how many there are. */
static int children_of(pid_t harness, pid_t found[2])
{
    int count = 0;
    DIR *all = opendir("/proc");
    assert_non_null(all);
    for (struct dirent *one = readdir(all); one && count < 2; one = readdir(all)) {
        char path[300];
        int parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", one->d_name);
        FILE *file = strspn(one->d_name, "0123456789") ? fopen(path, "r") : NULL;
        if (file && fscanf(file, "%*d (%*63[^)]) %*c %d", &parent) == 1 && parent == harness)
            found[count++] = (pid_t)strtol(one->d_name, NULL, 10);
        if (file)
            fclose(file);
    }
    closedir(all);
    return count;
}

static bool is_stopped(pid_t pid)
{
    char path[40], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%*63[^)]) %c", &state) != 1)
        state = '?';
    if (file)
        fclose(file);
    return state == 'T';
}

/* In the very moment in which one of its servers stands still. */
static void an_interrupt_leaves_nothing_running(void **state)
{
    (void)state;
    struct process process;
    pid_t servers[2] = {0, 0};
    bed_start(bed, FAULTS "--strategies none --faults stall --runs 100", &process);
    int64_t until_us = clock_mono_us() + t_patience_us();
    while (children_of(process.pid, servers) < 2 ||
           !(is_stopped(servers[0]) || is_stopped(servers[1]))) {
        assert_true(clock_mono_us() < until_us);
        clock_sleep_until(clock_mono_us() + 2000);
    }
    kill(process.pid, SIGINT);
    assert_int_equal(bed_finish(bed, &process), 2);
    own_bed_says("interrupted");
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(kill(servers[i], 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unknown_names_are_refused_with_the_nearest, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(a_contradiction_is_the_exit_status, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(a_cell_is_reproduced, own_bed_alone, own_bed_end),
        cmocka_unit_test_setup_teardown(a_threshold_that_failed_is_the_exit_status, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(what_is_wrong_with_a_threshold_is_said_first, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(a_column_without_a_control_proves_nothing, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(pieces_are_joined, own_bed_alone, own_bed_end),
        cmocka_unit_test_setup_teardown(an_interrupt_leaves_nothing_running, own_bed_alone,
                                        own_bed_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
