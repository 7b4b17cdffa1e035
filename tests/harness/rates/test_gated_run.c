/* `run` as a pipeline calls it: a threshold that cannot hold is exit status 1 and is named, in the
 * output, in results.json and in the JUnit file; one that holds is 0. Nothing here depends on how
 * fast the machine is: the rate is one that any reaches, and how late the harness may be is left
 * open. */
#include "lib/t.h"

#include "harness/bed/own_bed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUN                                                                                        \
    "run --server-binary " SERVER " --stock 10 --rate 50 "                                         \
    "--duration 1s --connections 8 --max-lag-ms 60000 --strategies conditional "

static char junit[200], content[1 << 16];

static int gated(const char *fail_if)
{
    char arguments[900];
    snprintf(junit, sizeof junit, "%s/junit.xml", bed->folder);
    snprintf(arguments, sizeof arguments, RUN "--fail-if %s --junit %s", fail_if, junit);
    return bed_run(bed, arguments);
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

static void one_that_holds_is_0(void **state)
{
    (void)state;
    assert_int_equal(gated("orders<1,committed<1,max>1000s"), 0);
    assert_non_null(strstr(bed->output, "no threshold failed in 1 phase"));
    read_junit();
    assert_non_null(strstr(content, "tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\""));
    assert_non_null(strstr(content, "name=\"verdict, 1 instance\""));
}

static void one_that_cannot_hold_is_1_and_is_named(void **state)
{
    (void)state;
    assert_int_equal(gated("max>1000s,committed<1000000,p99>=0us"), 1);
    assert_non_null(strstr(bed->output, "conditional, speed, 1 instance, round 1: "
                                        "committed<1000000: "));
    assert_non_null(strstr(bed->output, "round 1: p99>=0us: "));
    assert_null(strstr(bed->output, "max>1000s: "));
    read_junit();
    assert_non_null(strstr(content, "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\""));
    assert_non_null(strstr(content, "type=\"threshold\">committed&lt;1000000: "));
    json_t *results = bed_results(bed);
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
static void what_is_wrong_is_said_before_the_load(void **state)
{
    (void)state;
    assert_int_equal(gated("p99>250"), 2);
    assert_non_null(strstr(bed->output, "--fail-if: character 8: p99 is a time"));
    assert_int_equal(bed_run(bed, RUN "--junit /nowhere/junit.xml"), 2);
    assert_non_null(strstr(bed->output, "--junit: cannot write /nowhere/junit.xml"));
    assert_int_equal(bed_run(bed, "run --scenario articles --fail-if p99>1s"), 2);
    assert_non_null(strstr(bed->output, "--fail-if is not for --scenario articles"));
    assert_int_equal(bed_run(bed, "run --scenario unpaid --junit junit.xml"), 2);
    assert_non_null(strstr(bed->output, "--junit are not for --scenario unpaid"));
}

/* A run that could not be made is an error in the file, not an empty one. */
static void a_run_that_was_not_made_is_in_the_file(void **state)
{
    (void)state;
    char arguments[900];
    snprintf(junit, sizeof junit, "%s/junit.xml", bed->folder);
    snprintf(arguments, sizeof arguments,
             "run --server-binary " SERVER " --strategies magic "
             "--junit %s",
             junit);
    assert_int_equal(bed_run(bed, arguments), 2);
    read_junit();
    assert_non_null(strstr(content, "<error message=\"--strategies: the servers have no "
                                    "&#39;magic&#39;\" type=\"ended\">"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_holds_is_0, own_bed_alone, own_bed_end),
        cmocka_unit_test_setup_teardown(one_that_cannot_hold_is_1_and_is_named, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said_before_the_load, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(a_run_that_was_not_made_is_in_the_file, own_bed_alone,
                                        own_bed_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
