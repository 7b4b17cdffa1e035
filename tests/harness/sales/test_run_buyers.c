/*
 * What `run` sends with its orders, on real servers: header fields of the user's.
 */
#include "lib/t.h"

#include "harness/bed/own_bed.h"

#include <string.h>

#define RUN "run --server-binary " SERVER " --duration 1s --connections 8 "

/* A server of which no admin token is known takes restocks from its own machine alone, and none
 * that has come through a proxy: the header decides. */
static void a_header_is_sent(const char *load)
{
    char line[256];
    snprintf(line, sizeof line,
             RUN "--scenario counter --strategies conditional --header X-Shop:1 "
                 "--header X-Forwarded-For:198.51.100.7 %s",
             load);
    assert_int_equal(bed_run(bed, line), 2);
    json_t *results = bed_results(bed);
    assert_string_equal(bed_verdict(results, "conditional", "load", 1), "no run");
    json_decref(results);
    own_bed_file_says("results.json", "instance 1 of 1 got no orders");
    own_bed_file_says("results.json", "\"headers\": \"X-Shop, X-Forwarded-For\"");
}

static void a_header_is_sent_by_wrk(void **state)
{
    (void)state;
    a_header_is_sent("");
}

static void a_header_is_sent_at_a_rate(void **state)
{
    (void)state;
    a_header_is_sent("--rate 50 --max-lag-ms 60000");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, own_bed_alone, own_bed_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_header_is_sent_by_wrk),
        CASE(a_header_is_sent_at_a_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
