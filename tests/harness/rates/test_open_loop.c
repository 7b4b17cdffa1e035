/*
 * The open-loop generator on a real server. What a busy machine adds makes latencies longer and
 * starts later; what is asked for here holds all the same.
 */
#include "lib/t.h"

#include "harness/fixtures/has.h"
#include "harness/fixtures/program.h"
#include "loadtest/fleet/api.h"
#include "loadtest/load/load.h"
#include "loadtest/phase/phase.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PRODUCT = 4000001, ANY_LAG_US = 60000000 };

static const char *urls[1];
static struct error error;
static struct load_result result;

static struct load load_of(double rate_per_s, int64_t duration_us)
{
    urls[0] = program->servers[0].url;
    return (struct load){
        .targets = urls,
        .targets_count = 1,
        .path = "/orders?strategy=conditional",
        .token = "",
        .connections = 4,
        .arrivals = {.kind = ARRIVALS_CONSTANT,
                     .parts = {{"steady", rate_per_s, duration_us}},
                     .parts_count = 1},
        .first_user = 1000000000000,
        .first_product = PRODUCT,
        .products = 1,
        .lag_limit_us = ANY_LAG_US,
    };
}

static void put_on_sale(int64_t stock)
{
    struct api *api = api_create("");
    const struct api_sale sale = {.first = PRODUCT, .count = 1, .stock = stock};
    t_done(api_put_products(api, program->servers[0].url, &sale, &error), error);
    api_destroy(api);
}

static int64_t of_class(enum load_class class)
{
    return result.parts[0].classes[class].count;
}

static int64_t in_all(void)
{
    int64_t sum = 0;
    for (int class = 0; class < LOAD_CLASSES; class ++)
        sum += of_class((enum load_class) class);
    return sum;
}

/* What a thread does to the server while the load goes on. */
struct mischief {
    int64_t at_us, for_us;
    int signal_number;
    pid_t pid;
    int64_t stopped_us, continued_us;
    pthread_t thread;
};

static void *do_mischief(void *argument)
{
    struct mischief *mischief = argument;
    int status;
    clock_sleep_until(mischief->at_us);
    kill(mischief->pid, mischief->signal_number);
    if (mischief->signal_number != SIGSTOP)
        return NULL;
    waitpid(mischief->pid, &status, WUNTRACED);
    mischief->stopped_us = clock_mono_us();
    clock_sleep_until(mischief->stopped_us + mischief->for_us);
    mischief->continued_us = clock_mono_us();
    kill(mischief->pid, SIGCONT);
    return NULL;
}

/* Its times count from the schedule's beginning. */
static bool begin_mischief(const struct load *load, int64_t *start_us, struct error *why)
{
    struct mischief *mischief = load->context;
    (void)why;
    *start_us = clock_mono_us();
    mischief->at_us += *start_us;
    mischief->pid = program->servers[0].process.pid;
    assert_int_equal(pthread_create(&mischief->thread, NULL, do_mischief, mischief), 0);
    return true;
}

static void run_with_mischief(struct load *load, struct mischief *mischief)
{
    load->announce = begin_mischief;
    load->context = mischief;
    t_done(open_loop_run(load, &result, &error), error);
    pthread_join(mischief->thread, NULL);
}

/* Every order once, in the histograms and over time; what came long after the end is in no slice.
 */
static void look_at_detail(const struct load_detail *detail)
{
    int64_t offered = 0, answered = 0;
    for (int class = 0; class < LOAD_CLASSES; class ++)
        assert_int_equal(detail->parts[0][class].count, of_class((enum load_class) class));
    for (size_t i = 0; i < detail->timeline.count; i++) {
        offered += detail->timeline.slices[i].offered;
        for (int class = 0; class < LOAD_CLASSES; class ++)
            answered += detail->timeline.slices[i].answered[class];
    }
    assert_int_equal(offered, result.parts[0].arrivals);
    assert_in_range(answered, 1, in_all());
}

static void count_orders(double rate_per_s, int64_t duration_us, int64_t arrivals)
{
    static struct load_detail detail;
    struct load load = load_of(rate_per_s, duration_us);
    put_on_sale(load.connections); /* each of them has one order that is begun in time */
    load.detail = memset(&detail, 0, sizeof detail);
    t_done(open_loop_run(&load, &result, &error), error);
    assert_in_range(result.parts[0].arrivals, arrivals - 1, arrivals);
    assert_int_equal(in_all(), result.parts[0].arrivals);
    assert_int_equal(of_class(LOAD_COMMITTED), load.connections);
    look_at_detail(&detail);
    assert_int_equal(result.abandoned, 0);
    assert_int_equal(result.requests + result.parts[0].never_started, in_all());
    assert_int_equal(result.not_2xx, result.requests - load.connections);
    assert_in_range(result.committed_in_time, 1, load.connections);
}

TEST(every_order_is_counted_once)
{
    count_orders(200, 5000000, 1000);
}

/* It takes turns where arrivals are close together. */
TEST(so_is_every_order_of_a_crowd)
{
    count_orders(10000, 3000000, 30000);
}

/* However late an answer comes: here nothing follows the lead. */
TEST(what_the_lead_commits_is_not_counted)
{
    struct load load = load_of(200, 5000000);
    put_on_sale(load.connections);
    load.arrivals.lead_us = 5000000;
    t_done(open_loop_run(&load, &result, &error), error);
    assert_int_equal(of_class(LOAD_COMMITTED), load.connections);
    assert_int_equal(result.committed_in_time, 0);
}

TEST_WITH(a_lead_comes_first, NULL, NULL)
{
    struct arrivals_plan schedule;
    struct phase_plan plan = {.scenario = SCENARIO_HOT, .rate_per_s = 100, .lead_s = 3};
    phase_open_plan(&plan, 6000000, &schedule);
    HAS(schedule, parts_count, 2, parts[0].name, "lead", lead_us, 3000000, parts[0].duration_us,
        3000000, parts[1].name, "steady", parts[1].duration_us, 6000000);
    assert_true(schedule.parts[0].rate_per_s == 100 && schedule.parts[1].rate_per_s == 100);
    plan.lead_s = 0;
    phase_open_plan(&plan, 6000000, &schedule);
    HAS(schedule, parts_count, 1, parts[0].name, "steady");
}

/* A server that stands still for 1.5 s: the 150 orders of 500 that were due meanwhile all waited,
 * though only four could be sent. A generator that waits for answers would have seen four slow
 * ones. */
TEST(a_stall_is_in_every_latency)
{
    put_on_sale(1000000);
    struct load load = load_of(100, 5000000);
    struct mischief stall = {.at_us = 300000, .for_us = 1500000, .signal_number = SIGSTOP};
    run_with_mischief(&load, &stall);
    int64_t stalled_us = stall.continued_us - stall.stopped_us;
    assert_true(stalled_us >= 1500000);
    assert_int_equal(in_all(), result.parts[0].arrivals);
    assert_true(result.max_us >= stalled_us - 20000);
    assert_true(result.parts[0].classes[LOAD_COMMITTED].p90_us >= 250000);
    assert_true(result.parts[0].late_starts + result.parts[0].never_started >= 30);
}

TEST(a_server_that_dies_is_a_result)
{
    put_on_sale(1000000);
    struct load load = load_of(500, 5000000);
    struct mischief death = {.at_us = 300000, .signal_number = SIGKILL};
    run_with_mischief(&load, &death);
    assert_int_equal(in_all(), result.parts[0].arrivals);
    assert_true(of_class(LOAD_FAILED) >= 100);
    assert_true(result.abandoned > 0);
    int status;
    while (!process_ended(&program->servers[0].process, &status))
        clock_sleep_until(clock_mono_us() + 1000);
    program->count = 0;
}

static void hold_up(void *context)
{
    (void)context;
    clock_sleep_until(clock_mono_us() + 100000);
}

/* A server that stands still for longer than the schedule was to wait: the sale is announced again.
 */
TEST(a_sale_that_was_announced_late_is_announced_again)
{
    static struct mischief stall;
    struct phase_plan plan = {
        .scenario = SCENARIO_BELL, .load = {.first_product = PRODUCT, .products = 1}, .stock = 5};
    struct fleet fleet;
    int64_t start_us = 0;
    stall = (struct mischief){
        .for_us = 1500000, .signal_number = SIGSTOP, .pid = program->servers[0].process.pid};
    program_open_fleet(program, &fleet);
    assert_int_equal(pthread_create(&stall.thread, NULL, do_mischief, &stall), 0);
    int64_t begun_us = clock_mono_us();
    do
        t_done(phase_open_announce(&fleet, &plan, 1000000, &start_us, &error), error);
    while (clock_mono_us() - begun_us < stall.for_us);
    bool in_time = clock_mono_us() < start_us;
    pthread_join(stall.thread, NULL);
    assert_true(in_time);
    program_close_fleet(&fleet);
}

/* The harness's own fault is not the server's. */
TEST(a_late_generator_says_so)
{
    put_on_sale(1000000);
    struct load load = load_of(500, 1000000);
    load.tick = hold_up;
    load.lag_limit_us = 10000;
    t_done(open_loop_run(&load, &result, &error), error);
    assert_true(result.too_late);
    assert_true(result.lag.p99_us >= 50000);
}

TEST(nobody_listens)
{
    int port, fd = t_reserve_port(&port); /* nobody listens, and it is nobody else's meanwhile */
    const char *url = t_text("http://127.0.0.1:%d", port);
    struct load load = load_of(500, 1000000);
    urls[0] = url;
    assert_false(open_loop_run(&load, &result, &error));
    t_says(error.text, url + strlen("http://"));
    close(fd);
}

#define PARTS "results.json/runs/0/open_loop/parts"

static int64_t count_of(int part, const char *class)
{
    return program_integer(t_text(PARTS "/%d/latency_us/%s/count", part, class));
}

/* Before the bell orders are refused though there is more stock than orders; then all of it goes.
 */
TEST_WITH(a_sale_from_before_its_bell, program_alone, program_end)
{
    program_exits(0, "run --scenario bell --duration 12s "
                     "--rate 50 --surge 5 --stock 150 --strategies conditional "
                     "--connections 128 --max-lag-ms 60000");
    program_expect("conditional", "load", 1, "kept");
    assert_string_equal(json_string_value(program_json(PARTS "/0/part")), "idle");
    assert_true(count_of(0, "refused") > 0);
    assert_int_equal(count_of(0, "committed") + count_of(1, "committed") + count_of(2, "committed"),
                     150);
    assert_true(program_integer(PARTS "/1/arrivals") > 400);
    program_says("p99.9 ms");
}

TEST_WITH(a_late_run_reports_nothing, program_alone, program_end)
{
    program_tells(2,
                  "run --scenario soldout --rate 200 "
                  "--duration 1s --strategies conditional --max-lag-ms 0",
                  "could not keep up");
    assert_null(strstr(program->output, "p99.9 ms"));
    program_expect("conditional", "load", 1, "no run");
    assert_null(program_json(PARTS "/0"));
}

TEST_EACH(program_one, program_end)
