/* `sweep` on real servers: the values in turn, the settings where they belong, the files. And
 * goodput, which nothing but bench calls. */
#include "lib/t.h"

#include "bench/take/goodput.h"
#include "harness/fixtures/has.h"
#include "harness/fixtures/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A row of sweep.csv; `number` 0 is its first line. False when there is none. */
static bool read_row(int number, char *out, size_t size)
{
    FILE *file = t_open(program_path("sweep.csv"));
    bool found = true;
    for (int i = 0; i <= number && found; i++)
        found = fgets(out, (int)size, file) != NULL;
    fclose(file);
    return found;
}

static double column(const char *row, const char *name)
{
    char head[600];
    assert_true(read_row(0, head, sizeof head));
    const char *at = strstr(head, name);
    assert_non_null(at);
    for (const char *comma = head; comma < at; comma++) {
        if (*comma == ',')
            row = strchr(row, ',') + 1;
    }
    return strtod(row, NULL);
}

TEST(values_take_turns)
{
    char row[600];
    program_exits(0, "sweep --strategies batch,conditional "
                     "--over max-batch=1,500 --set in-flight-per-product=3,"
                     "connections=8 --duration 3s --rounds 2");
    static const double values[] = {1, 1, 500, 500, 1, 1, 500, 500};
    for (int i = 0; i < 8; i++) {
        assert_true(read_row(i + 1, row, sizeof row));
        assert_int_equal(strncmp(row, "max-batch,", 10), 0);
        assert_true(column(row, "value") == values[i]);
        t_says(row, i % 2 ? ",conditional," : ",batch,");
        assert_true(column(row, "round") == (i < 4 ? 1 : 2));
        assert_true(column(row, "connections") == 8);
        assert_true(column(row, "committed_per_s") > 0);
    }
    assert_false(read_row(9, row, sizeof row));
    program_says("best");
}

/* results.json has what was varied in each run, and what was the same for all; the page is there.
 */
TEST(a_sweep_has_a_report)
{
    program_exits(0, "sweep --strategies conditional "
                     "--over connections=2,4 --set in-flight-per-product=3 "
                     "--duration 1s --rounds 1");
    const json_t *runs = program_json("results.json/runs");
    assert_int_equal(json_array_size(runs), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *run = json_array_get(runs, i);
        assert_string_equal(json_string_value(json_object_get(run, "over")), "connections");
        assert_int_equal(json_integer_value(json_object_get(run, "value")), 2 + 2 * (int)i);
        assert_non_null(json_object_get(json_object_get(run, "latency_us"), "steps"));
    }
    assert_null(program_json("results.json/settings/connections"));
    assert_string_equal(json_string_value(program_json("results.json/settings/over")),
                        "connections=2,4");
    assert_string_equal(json_string_value(program_json("results.json/settings/set/0")),
                        "in-flight-per-product=3");
    program_says(program_path("report.html"));
    assert_int_equal(access(program_path("report.html"), R_OK), 0);
}

/* An order of redis-token asks Redis for its lock before it is committed and answered. */
TEST(redis_is_further_away)
{
    char row[600];
    program_exits(0, "sweep --strategies redis-token "
                     "--over redis-delay-us=0,100000 --set connections=1 "
                     "--duration 5s --rounds 1");
    assert_true(read_row(2, row, sizeof row));
    assert_true(column(row, "value") == 100000);
    assert_true(column(row, "committed_per_s") > 0);
    assert_true(column(row, "latency_us_p50") >= 100000);
}

/* The settings of the started servers, as the kernel shows their command line. */
TEST(servers_get_the_settings)
{
    char line[2048] = "";
    struct error error;
    struct instance server;
    struct options options = program->options;
    options.in_flight_per_product = 3;
    options.pg_sessions = 9;
    options.max_batch = 7;
    options.work_ms = 2;
    t_done(instance_start_all(&server, 1, &options, SERVER, program->folder, &error), error);
    FILE *file = t_open(t_text("/proc/%d/cmdline", (int)server.process.pid));
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    for (size_t i = 0; i + 1 < length; i++) {
        if (!line[i])
            line[i] = ' ';
    }
    static const char *const wanted[] = {" --in-flight-per-product 3 ", " --pg-sessions 9 ",
                                         " --work-ms 2 ", " --max-batch 7"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        t_says(line, wanted[i]);
    }
    assert_true(instance_stop_all(&server, 1, &error));
}

TEST(what_cannot_be_swept)
{
    program_tells(2, "sweep --over colour=1", "--over");
    program_tells(2, "sweep --over work-ms=0 --strategies magic", "magic");
}

TEST_WITH(an_overload_has_a_lead, NULL, NULL)
{
    struct phase_plan plan = {.load = {.duration_s = 3, .connections = 256, .threads = 2}};
    struct phase_plan overload = goodput_overload(&plan, 1234.5, 12000);
    HAS(overload, lead_s, 3, load.duration_s, 6, rate_per_s, 1234, load.connections, 12000,
        load.threads, 1);
    assert_int_equal(goodput_overload(&plan, 0.5, 64).rate_per_s, 1);
}

/* Two phases on one server, few enough to be quick: all that is asked is that they agree. */
TEST_WITH(goodput_is_measured, program_one, program_end)
{
    struct error error = {.text = ""};
    struct fleet fleet;
    program_open_fleet(program, &fleet);
    struct phase_plan plan = program_plan(&fleet, "conditional", 3000002);
    plan.load.lag_limit_us = 60000000;
    struct goodput goodput;
    t_done(goodput_measure(&fleet, &plan, 10, 64, &goodput, &error), error);
    assert_true(goodput.peak_per_s > 0);
    assert_true(goodput.overloaded_per_s > 0);
    program_close_fleet(&fleet);
}

TEST_EACH(program_alone, program_end)
