/* `capacity` on a real server, as far as it does not depend on how fast the machine is: an SLO that
 * any rate meets is found at the rate that it was allowed, one that none meets is found nowhere. */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <unistd.h>

#define CAPACITY "capacity --connections 8 --duration 1s --max-lag-ms 60000 "

/* A latency below nothing. From 40 it falls to 10: fewer orders say nothing. */
TEST(what_no_rate_holds_is_not_found)
{
    program_tells(1, CAPACITY "--slo p99<0us --rate 40 --arrivals constant",
                  "No rate holds, from 10 orders/s on.");
    program_says("p99<0us: ");
    assert_int_equal(program_integer("results.json/capacity/rate_per_s"), 0);
    assert_int_equal(program_integer("results.json/capacity/failed_per_s"), 10);
    const json_t *runs = program_json("results.json/runs");
    assert_int_equal(json_array_size(runs), 3);
    static const int rates[] = {40, 20, 10};
    for (size_t i = 0; i < 3; i++) {
        const json_t *run = json_array_get(runs, i);
        assert_string_equal(json_string_value(json_object_get(run, "over")), "rate");
        assert_int_equal(json_integer_value(json_object_get(run, "value")), rates[i]);
        assert_true(json_is_false(json_object_get(run, "holds")));
    }
}

/* What counts orders does not depend on when they are answered: at most 40 of them are due in a
 * second at 16, and more than 40 at 64. */
TEST(a_rate_is_found_and_confirmed)
{
    program_exits(0, CAPACITY "--slo orders<40 --rate 16 --arrivals constant --within 60m");
    int64_t rate = program_integer("results.json/capacity/rate_per_s");
    assert_in_range(rate, 32, 40);
    assert_in_range(program_integer("results.json/capacity/failed_per_s"), rate + 1, 42);
    assert_int_equal(program_integer("results.json/capacity/confirmed"), 3);
    assert_int_equal(program_integer("results.json/capacity/not_confirmed"), 0);
    program_says(t_text("%d orders/s hold: 3 of 3 runs", (int)rate));
    assert_int_equal(access(program_path("capacity.csv"), R_OK), 0);
    program_file_says("report.html", "\\\"slo\\\": \\\"orders\\u003c40\\\"");
    program_file_says("report.html", "\"capacity.csv\":\"value,holds,");
}

TEST(time_that_is_over_is_said)
{
    program_tells(2, CAPACITY "--slo orders>=0 --rate 2 --within 1s", "--within 1 s is over");
    program_says("Not found: ");
}

TEST(what_is_wrong_is_said_before_the_load)
{
    program_tells(2, CAPACITY "--slo p99<50", "--slo: character 7: p99 is a time");
    program_tells(2, CAPACITY "--strategy magic", "--strategy: the servers have no 'magic'");
    program_tells(2, CAPACITY "--instances 1,2", "--instances takes one figure");
}

TEST_EACH(program_alone, program_end)
