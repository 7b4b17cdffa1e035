/* `run` as a pipeline calls it: a threshold that cannot hold is exit status 1 and is named, in the
 * output, in results.json and in the JUnit file; one that holds is 0. Nothing here depends on how
 * fast the machine is: the rate is one that any reaches, and how late the harness may be is left
 * open. */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUN                                                                                        \
    "run --stock 10 --rate 50 "                                                                    \
    "--duration 1s --connections 8 --max-lag-ms 60000 --strategies conditional "

static char junit[200], content[1 << 16];

static int gated(const char *fail_if)
{
    char arguments[900];
    snprintf(junit, sizeof junit, "%s/junit.xml", program->folder);
    snprintf(arguments, sizeof arguments, RUN "--fail-if %s --junit %s", fail_if, junit);
    return program_run(arguments);
}

static const char *read_junit(void)
{
    FILE *from = t_open(junit);
    size_t got = fread(content, 1, sizeof content - 1, from);
    content[got] = '\0';
    fclose(from);
    unlink(junit);
    return content;
}

TEST(one_that_holds_is_0)
{
    assert_int_equal(gated("orders<1,committed<1,max>1000s"), 0);
    program_says("no threshold failed in 1 phase");
    read_junit();
    assert_non_null(strstr(content, "tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\""));
    assert_non_null(strstr(content, "name=\"verdict, 1 instance\""));
}

TEST(one_that_cannot_hold_is_1_and_is_named)
{
    assert_int_equal(gated("max>1000s,committed<1000000,p99>=0us"), 1);
    program_says("conditional, speed, 1 instance, round 1: "
                 "committed<1000000: ");
    program_says("round 1: p99>=0us: ");
    assert_null(strstr(program->output, "max>1000s: "));
    read_junit();
    assert_non_null(strstr(content, "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\""));
    assert_non_null(strstr(content, "type=\"threshold\">committed&lt;1000000: "));
    json_t *results = program_results();
    assert_non_null(results);
    const json_t *runs = json_object_get(results, "runs");
    const json_t *thresholds = json_object_get(json_array_get(runs, 0), "thresholds");
    assert_int_equal(json_array_size(thresholds), 3);
    assert_true(json_is_false(json_object_get(json_array_get(thresholds, 0), "failed")));
    assert_true(json_is_true(json_object_get(json_array_get(thresholds, 1), "failed")));
    assert_null(json_object_get(json_array_get(runs, 1), "thresholds")); /* it sold out */
    json_decref(results);
}

/* And nothing was started for it. */
TEST(what_is_wrong_is_said_before_the_load)
{
    assert_int_equal(gated("p99>250"), 2);
    program_says("--fail-if: character 8: p99 is a time");
    program_exits(2, RUN "--junit /nowhere/junit.xml");
    program_says("--junit: cannot write /nowhere/junit.xml");
    program_exits(2, "run --scenario articles --fail-if p99>1s");
    program_says("--fail-if is not for --scenario articles");
    program_exits(2, "run --scenario unpaid --junit junit.xml");
    program_says("--junit are not for --scenario unpaid");
}

/* A run that could not be made is an error in the file, not an empty one. */
TEST(a_run_that_was_not_made_is_in_the_file)
{
    char arguments[900];
    snprintf(junit, sizeof junit, "%s/junit.xml", program->folder);
    snprintf(arguments, sizeof arguments,
             "run --strategies magic "
             "--junit %s",
             junit);
    program_exits(2, arguments);
    read_junit();
    assert_non_null(strstr(content, "<error message=\"--strategies: the servers have no "
                                    "&#39;magic&#39;\" type=\"ended\">"));
}

TEST_EACH(program_alone, program_end)
