/* `run` as a pipeline calls it: a threshold that cannot hold is exit status 1 and is named, in the
 * output, in results.json and in the JUnit file; one that holds is 0. Nothing here depends on how
 * fast the machine is: the rate is one that any reaches, and how late the harness may be is left
 * open. */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <string.h>

#define RUN                                                                                        \
    "run --stock 10 --rate 50 "                                                                    \
    "--duration 1s --connections 8 --max-lag-ms 60000 --strategies conditional "

static int gated(const char *fail_if)
{
    return program_run(t_text(RUN "--fail-if %s --junit %s", fail_if, program_path("junit.xml")));
}

TEST(one_that_holds_is_0)
{
    assert_int_equal(gated("orders<1,committed<1,max>1000s"), 0);
    program_says("no threshold failed in 1 phase");
    program_file_says("junit.xml", "tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\"");
    program_file_says("junit.xml", "name=\"verdict, 1 instance\"");
}

TEST(one_that_cannot_hold_is_1_and_is_named)
{
    assert_int_equal(gated("max>1000s,committed<1000000,p99>=0us"), 1);
    program_says("conditional, speed, 1 instance, round 1: "
                 "committed<1000000: ");
    program_says("round 1: p99>=0us: ");
    assert_null(strstr(program->output, "max>1000s: "));
    program_file_says("junit.xml", "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\"");
    program_file_says("junit.xml", "type=\"threshold\">committed&lt;1000000: ");
    assert_int_equal(json_array_size(program_json("results.json/runs/0/thresholds")), 3);
    assert_true(json_is_false(program_json("results.json/runs/0/thresholds/0/failed")));
    assert_true(json_is_true(program_json("results.json/runs/0/thresholds/1/failed")));
    assert_null(program_json("results.json/runs/1/thresholds")); /* it sold out */
}

/* And nothing was started for it. */
TEST(what_is_wrong_is_said_before_the_load)
{
    assert_int_equal(gated("p99>250"), 2);
    program_says("--fail-if: character 8: p99 is a time");
    program_tells(2, RUN "--junit /nowhere/junit.xml", "--junit: cannot write /nowhere/junit.xml");
}

/* A run that could not be made is an error in the file, not an empty one. */
TEST(a_run_that_was_not_made_is_in_the_file)
{
    program_exits(2, t_text("run --strategies magic --junit %s", program_path("junit.xml")));
    program_file_says("junit.xml", "<error message=\"--strategies: the servers have no "
                                   "&#39;magic&#39;\" type=\"ended\">");
}

TEST_EACH(program_alone, program_end)
