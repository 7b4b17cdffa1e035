/* The faults' rules without a server: bounds, schedules, expectations, timelines, what bit. */
#include "lib/t.h"

#include "harness/fixtures/has.h"

#include "loadtest/faults/matrix.h"

#include <math.h>
#include <string.h>

static struct error error;

static void expect_say(size_t seen, size_t runs, const char *text)
{
    char out[120];
    confidence_say(seen, runs, out, sizeof out);
    assert_string_equal(out, text);
}

/* 1 - 0.05^(1/n); what lies between, by the tables of Clopper and Pearson. */
TEST(bounds_are_exact)
{
    expect_say(0, 20, "0 of 20: less than 14 % with 95 % confidence");
    expect_say(0, 1, "0 of 1: less than 95 % with 95 % confidence");
    expect_say(3, 3, "3 of 3: more than 36 % with 95 % confidence");
    expect_say(0, 0, "no run: nothing can be said");
    struct confidence bounds = confidence_of(2, 10);
    assert_true(fabs(bounds.least - 0.0252) < 0.0001);
    assert_true(fabs(bounds.most - 0.5561) < 0.0001);
    bounds = confidence_of(0, 20);
    assert_true(fabs(bounds.most - (1 - pow(0.05, 0.05))) < 1e-12);
    bounds = confidence_of(1, 2);
    assert_true(fabs(bounds.least - 0.0126) < 0.0001 && fabs(bounds.most - 0.9874) < 0.0001);
}

TEST(the_same_seed_makes_the_same_schedule)
{
    for (size_t i = 0; i < fault_count(); i++) {
        const struct fault_settings *settings = &fault_at(i)->settings;
        struct fault_plan one, same, other;
        fault_plan_make(&one, settings, 2, 7);
        fault_plan_make(&same, settings, 2, 7);
        fault_plan_make(&other, settings, 2, 8);
        assert_memory_equal(&one, &same, sizeof one);
        assert_memory_not_equal(&one, &other, sizeof one);
        int64_t last_us = 0;
        for (size_t j = 0; j < one.count; j++) {
            assert_true(one.events[j].begin_us > last_us);
            assert_true(one.events[j].heal_us >= one.events[j].begin_us);
            assert_true(one.events[j].victim < 2);
            last_us = one.events[j].heal_us;
        }
        assert_true(one.count > 0 && one.count <= FAULT_EVENTS_MAX);
        assert_true(one.duration_us >= last_us);
    }
}

/* Seed 1 is this on every machine. */
TEST(a_schedule_does_not_depend_on_the_machine)
{
    const struct fault_settings settings = {
        .events = 2, .shortest_ms = 100, .longest_ms = 200, .gap_ms = 300, .rest_ms = 50};
    struct fault_plan plan;
    fault_plan_make(&plan, &settings, 2, 1);
    assert_int_equal(plan.count, 2);
    for (int i = 0; i < 2; i++) {
        const struct fault_event *event = &plan.events[i];
        assert_int_equal(event->victim, 0);
        assert_int_equal((event->begin_us + 5000) / 10000, i == 0 ? 82 : 142);
        assert_int_equal((event->heal_us - event->begin_us + 500) / 1000, i == 0 ? 129 : 113);
    }
}

static struct api_strategy strategy(const char *name, bool paused, bool forgets)
{
    struct api_strategy made = {.needs = " postgresql redis ",
                                .promise = {.one_instance = true,
                                            .many_instances = true,
                                            .paused_holder = paused,
                                            .redis_failover = forgets}};
    snprintf(made.name, sizeof made.name, "%s", name);
    return made;
}

TEST(what_is_promised_is_expected)
{
    struct api_strategy fenced = strategy("redis-fenced", true, true);
    struct api_strategy token = strategy("redis-token", false, false);
    struct api_strategy uuid = strategy("redis-uuid", false, false);
    struct api_strategy row = strategy("conditional", true, true);
    snprintf(row.needs, sizeof row.needs, " postgresql ");
    assert_int_equal(cell_expectation_of(&fault_stall, &fenced), CELL_HOLDS);
    assert_int_equal(cell_expectation_of(&fault_stall, &token), CELL_BREAKS);
    assert_int_equal(cell_expectation_of(&fault_stall, &uuid), CELL_MAY_BREAK);
    assert_int_equal(cell_expectation_of(&fault_forget, &row), CELL_NOTHING);
    assert_int_equal(cell_expectation_of(&fault_forget, &fenced), CELL_HOLDS);
    assert_int_equal(cell_expectation_of(&fault_kill, &uuid), CELL_HOLDS);
    /* It is the fault that breaks a control: without one it is right, where it promises that. */
    struct api_strategy setnx = strategy("redis-setnx", false, false);
    assert_int_equal(cell_expectation_of(&fault_hold, &setnx), CELL_BREAKS);
    assert_int_equal(cell_expectation_of(&fault_calm, &setnx), CELL_HOLDS);
    struct api_strategy none = strategy("none", false, false);
    none.promise.many_instances = false;
    assert_int_equal(cell_expectation_of(&fault_calm, &none), CELL_BREAKS);
    assert_int_equal(cell_expectation_of(&fault_hold, &none), CELL_MAY_BREAK);
    token.promise.many_instances = false;
    assert_int_equal(cell_expectation_of(&fault_kill, &token), CELL_MAY_BREAK);
}

/* Each column has somebody who must fail in it, and `none`, who fails anyway, in no other. */
TEST(each_column_has_a_control_that_calm_does_not_break)
{
    for (size_t i = 0; i < fault_count(); i++) {
        const struct fault *fault = fault_at(i);
        assert_true(fault->controls[0] || fault->own);
        assert_int_equal(fault_has_control(fault, "none"), fault == &fault_calm);
        if (!fault->own)
            continue;
        assert_true(fault_has_control(fault, fault->own->name));
        assert_ptr_equal(fault_find_control(fault->own->name), fault->own);
        struct api_strategy own = strategy(fault->own->name, false, false);
        assert_int_equal(cell_expectation_of(fault, &own), CELL_BREAKS);
        assert_int_equal(cell_expectation_of(&fault_calm, &own), CELL_HOLDS);
    }
    assert_null(fault_find_control("conditional"));
}

static struct trial_plan plan;
static struct fault_site site = {.plan = &plan};
static char evidence[FAULT_TEXT_SIZE];

AFTER_EACH()
{
    ledger_fini(&site.ledger);
    plan = (struct trial_plan){.fault = NULL};
    site = (struct fault_site){.plan = &plan};
}

static void sale_from(int64_t from_us, int64_t at_us, enum ledger_result result, int status)
{
    const struct ledger_op op = {.number = (int64_t)site.ledger.ops_count + 1,
                                 .kind = LEDGER_BUY,
                                 .start_us = from_us,
                                 .end_us = at_us,
                                 .result = result,
                                 .status = status};
    ledger_add_op(&site.ledger, &op);
}

static void sale(int64_t at_us, enum ledger_result result, int status)
{
    sale_from(at_us - 10, at_us, result, status);
}

TEST(gaps_and_heals_are_measured)
{
    struct sales sales;
    const struct fault_interval healed = {1300000, 1500000}, late = {1300000, 2950000};
    sale(1200000, LEDGER_OK, 201);
    sale(1150000, LEDGER_OK, 201);
    sale(1400000, LEDGER_FAIL, 409);
    sale(1450000, LEDGER_OK, 200); /* a repeat is no sale */
    sale(1800000, LEDGER_OK, 202);
    sale(2900000, LEDGER_OK, 201);
    site.start_us = 1000000;
    site.schedule.duration_us = 2000000;
    site.count = 1;
    site.intervals[0] = healed;
    sales_look(&sales, &site);
    HAS(sales, sold, 4, longest_gap_us, 1100000, first_after_us, 300000, steps[1], 1, steps[2], 1,
        steps[8], 1, count, 20, shades[0].begin_us, 300000);
    site.intervals[0] = late;
    sales_look(&sales, &site);
    assert_int_equal(sales.first_after_us, -1);
}

/* Buys alone count, and what was sold counts though it was cancelled since. */
TEST(buys_are_measured)
{
    struct measured measured;
    struct row_order orders[] = {{.state = LEDGER_CONFIRMED},
                                 {.state = LEDGER_CANCELLED},
                                 {.state = LEDGER_QUEUED},
                                 {.state = LEDGER_FAILED}};
    const struct rows rows = {.orders = orders, .orders_count = 4};
    sale_from(1080000, 1100000, LEDGER_OK, 201);
    sale_from(1180000, 1200000, LEDGER_OK, 202);
    sale_from(1250000, 1300000, LEDGER_FAIL, 409);
    sale_from(1380000, 1400000, LEDGER_FAIL, 503);
    sale_from(1480000, 1500000, LEDGER_FAIL, 0);
    sale_from(0, 9000000, LEDGER_INFO, 0);
    sale_from(1580000, 1600000, LEDGER_OK, 200);
    site.ledger.ops[6].kind = LEDGER_CANCEL;
    site.schedule.duration_us = 2000000;
    sales_measure(&measured, &site, &rows);
    static const struct {
        enum threshold_measure measure;
        int value;
    } wanted[] = {{THRESHOLD_ORDERS, 6},  {THRESHOLD_COMMITTED, 2}, {THRESHOLD_ACCEPTED, 1},
                  {THRESHOLD_REFUSED, 1}, {THRESHOLD_FAILED, 3},    {THRESHOLD_MAX, 50000}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if ((int)measured.values[wanted[i].measure] != wanted[i].value)
            fail_msg("measure %zu is %f", i, measured.values[wanted[i].measure]);
    }
    assert_int_equal((int)measured.per_s[THRESHOLD_ORDERS], 3);
}

static bool bites(const struct fault *fault, struct fault_interval during, size_t count)
{
    plan.fault = fault;
    site.intervals[0] = during;
    site.count = count;
    return fault->did_it_bite(&site, evidence);
}

/* One order under way in the stopped instance, from 50 ms before the pause to 10 ms after it, and
 * one of the same product sold by another in the middle. */
static bool stall_bites(int64_t pause_us, int64_t other_end_us)
{
    struct api_strategy row = strategy("conditional", true, true);
    const struct fault_interval pause = {1000000, 1000000 + pause_us};
    after_each();
    plan.strategy = &row;
    snprintf(row.needs, sizeof row.needs, " postgresql ");
    sale_from(pause.begin_us - 50000, pause.heal_us + 10000, LEDGER_OK, 201);
    sale(other_end_us, LEDGER_OK, 201);
    return bites(&fault_stall, pause, 1);
}

TEST(a_stall_that_met_nobody_did_not_bite)
{
    int64_t lease_us = fault_stall.settings.lease_ms * 1000;
    int64_t pause_us = lease_us + 200000;
    assert_true(stall_bites(pause_us, 1000000 + lease_us + 100000));
    t_says(evidence, "1 orders were under way");
    t_says(evidence, "1 of them while another sold their product");
    /* The others waited, so no lease ended: they sold before it would end, or after the pause. */
    assert_true(stall_bites(pause_us, 1000000 + lease_us - 50000));
    t_says(evidence, "0 of them");
    assert_true(stall_bites(pause_us, 1000000 + pause_us + 5000));
    t_says(evidence, "0 of them");
    /* Not past the lease. */
    assert_false(stall_bites(lease_us - 1000, 1000000 + lease_us - 50000));
}

/* A lock's holder has to be among them: a lease must have lapsed. Nobody can be asked here. */
TEST(a_stall_without_a_lapsed_lease_did_not_bite_a_lock)
{
    struct api_strategy token = strategy("redis-token", false, false);
    plan.strategy = &token;
    sale_from(950000, 1910000, LEDGER_OK, 201);
    sale(1800000, LEDGER_OK, 201);
    assert_false(bites(&fault_stall, (struct fault_interval){1000000, 1900000}, 1));
    t_says(evidence, "0 holds had lapsed");
}

static const struct fault_interval away = {1000000, 1500000};

TEST(what_forgot_nothing_did_not_bite)
{
    assert_false(bites(&fault_forget, away, 8));
    site.forgotten = 1;
    assert_true(bites(&fault_forget, away, 8));
}

TEST(a_calm_in_which_nothing_was_sold_proves_nothing)
{
    sale(1100000, LEDGER_FAIL, 409);
    assert_false(bites(&fault_calm, away, 1));
    sale(1200000, LEDGER_OK, 201);
    assert_true(bites(&fault_calm, away, 1));
    t_says(evidence, "1 orders were sold");
}

TEST(a_database_that_nobody_missed_was_not_killed)
{
    site.restarted = 1;
    sale(900000, LEDGER_OK, 201);
    sale(1100000, LEDGER_OK, 201);
    assert_false(bites(&fault_database, away, 1));
    sale(1200000, LEDGER_FAIL, 503);
    assert_true(bites(&fault_database, away, 1));
}

TEST(a_kill_that_cut_nothing_off_did_not_bite)
{
    site.restarted = 1;
    sale_from(1050000, 1100000, LEDGER_INFO, 0); /* not sent before it was killed */
    sale(1000100, LEDGER_OK, 201);
    assert_false(bites(&fault_kill, away, 1));
    sale(1000005, LEDGER_INFO, 0);
    assert_true(bites(&fault_kill, away, 1));
}

/* Not for longer than a lease, or while nobody came. */
TEST(a_freeze_that_nobody_waited_for_did_not_bite)
{
    site.frozen = (struct fault_interval){1000000, 7000000};
    sale(900000, LEDGER_FAIL, 503);  /* came before it */
    sale(2000000, LEDGER_OK, 201);   /* sold all the same */
    sale(7500000, LEDGER_FAIL, 503); /* came after it */
    assert_false(bites(&fault_freeze, away, 1));
    sale(3000000, LEDGER_FAIL, 503);
    assert_true(bites(&fault_freeze, away, 1));
    sale_from(4000000, 7200000, LEDGER_OK, 201);
    assert_true(bites(&fault_freeze, away, 1));
    t_says(evidence, "2 orders");
    site.frozen.heal_us = site.frozen.begin_us + 4400000; /* a session may have outlived it */
    assert_false(bites(&fault_freeze, away, 1));
}

/* memcached, ZooKeeper and Redlock, whom a stalled instance cannot show, have a cell here. */
TEST(a_freeze_concerns_who_keeps_something_elsewhere)
{
    static const char *const needs[] = {" postgresql redis ", " postgresql stock-redis ",
                                        " postgresql redlock ", " postgresql memcached ",
                                        " postgresql zookeeper "};
    struct api_strategy row = strategy("a", true, true);
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        snprintf(row.needs, sizeof row.needs, "%s", needs[i]);
        assert_int_equal(cell_expectation_of(&fault_freeze, &row), CELL_HOLDS);
    }
    snprintf(row.needs, sizeof row.needs, " postgresql ");
    assert_int_equal(cell_expectation_of(&fault_freeze, &row), CELL_NOTHING);
}

/* A relay through which nothing went has swallowed, held and reset nothing. */
TEST(a_relay_that_met_nobody_did_not_bite)
{
    static const struct fault *const all[] = {&fault_commit, &fault_reply, &fault_hold,
                                              &fault_reset};
    const struct fault_event event = {.victim = 1};
    const char *nowhere = "unix:///nowhere";
    assert_true(way_before_redis(&site.ways[FAULT_WAY_REDIS], &nowhere, 0, &error));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        plan.fault = all[i];
        assert_true(all[i]->begin(&site, &event, &error));
        if (bites(all[i], away, 3))
            fail_msg("fault %zu: %s", i, evidence);
        assert_true(all[i]->heal(&site, &event, &error));
    }
    way_close(&site.ways[FAULT_WAY_REDIS]);
}

static void expect_way(const char *url, const char *begin, const char *end)
{
    struct way way = {.relay = NULL};
    assert_true(way_before_redis(&way, &url, 0, &error));
    const char *address = relay_address(way.relay);
    assert_memory_equal(url, begin, strlen(begin));
    assert_memory_equal(url + strlen(begin), address, strlen(address));
    assert_string_equal(url + strlen(begin) + strlen(address), end);
    way_close(&way);
}

TEST(a_way_keeps_what_stands_around_the_address)
{
    struct way way = {.relay = NULL};
    expect_way("unix:///run/redis.sock", "redis://", "");
    expect_way("redis://127.0.0.1:6379/2", "redis://", "/2");
    expect_way("redis://shop:se%40cret@127.0.0.1:6379", "redis://shop:se%40cret@", "");
    const char *tls = "rediss://127.0.0.1:6379", *uri = "postgresql://nowhere/shop";
    assert_false(way_before_redis(&way, &tls, 0, &error));
    assert_false(way_before_postgres(&way, &uri, 0, &error));
    t_says(error.text, "keywords");
}
