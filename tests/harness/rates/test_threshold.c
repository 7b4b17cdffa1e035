/* Thresholds: what is read, each mistake's message, and when a condition is met. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/judge/threshold.h"

#include <string.h>

static struct thresholds list;
static struct error error;

static void take(const char *text)
{
    t_done(thresholds_parse("fail-if", text, &list, &error), error);
}

static void is_read_as(size_t number, enum threshold_measure measure, enum threshold_order order,
                       enum threshold_unit unit, double limit)
{
    const struct threshold *one = &list.items[number];
    HAS(*one, measure, measure, order, order, unit, unit);
    if (one->limit < limit * 0.999999 || one->limit > limit * 1.000001)
        fail_msg("%s: %f, not %f", one->text, one->limit, limit);
}

TEST(every_measure_and_unit_is_read)
{
    take("p99>250ms,failed>1%,committed<1000");
    assert_int_equal(list.count, 3);
    is_read_as(0, THRESHOLD_P99, THRESHOLD_MORE, THRESHOLD_US, 250000);
    is_read_as(1, THRESHOLD_FAILED, THRESHOLD_MORE, THRESHOLD_PERCENT, 1);
    is_read_as(2, THRESHOLD_COMMITTED, THRESHOLD_LESS, THRESHOLD_COUNT, 1000);
    assert_string_equal(list.items[1].text, "failed>1%");
    take("p50<=1.5s,p90>=800us,max<2s,orders>=1,accepted<10/s,refused<=0.25%");
    assert_int_equal(list.count, 6);
    is_read_as(0, THRESHOLD_P50, THRESHOLD_AT_MOST, THRESHOLD_US, 1500000);
    is_read_as(1, THRESHOLD_P90, THRESHOLD_AT_LEAST, THRESHOLD_US, 800);
    is_read_as(2, THRESHOLD_MAX, THRESHOLD_LESS, THRESHOLD_US, 2000000);
    is_read_as(3, THRESHOLD_ORDERS, THRESHOLD_AT_LEAST, THRESHOLD_COUNT, 1);
    is_read_as(4, THRESHOLD_ACCEPTED, THRESHOLD_LESS, THRESHOLD_PER_S, 10);
    is_read_as(5, THRESHOLD_REFUSED, THRESHOLD_AT_MOST, THRESHOLD_PERCENT, 0.25);
}

TEST(each_mistake_has_its_message)
{
    static const struct {
        const char *text, *says;
    } mistakes[] = {
        {"", "--fail-if: character 1: a measure is missing; there are p50, p90, p99, max, orders, "
             "committed, accepted, refused and failed"},
        {"p99>1ms,", "character 9: a measure is missing"},
        {"p99>1ms,,failed>1%", "character 9: a measure is missing"},
        {" p99>1ms", "character 1: a measure is missing"},
        {"p98>1ms", "character 1: 'p98' is no measure"},
        {"P99>1ms", "did you mean p99?"},
        {"p99>1ms,comitted<3", "character 9: 'comitted' is no measure"},
        {"comitted<3", "did you mean committed?"},
        {"p99", "character 4: <, <=, > or >= must follow 'p99'"},
        {"p99=5ms", "character 4: <, <=, > or >= must follow 'p99'"},
        {"p99>", "character 5: a number must follow"},
        {"p99>>5ms", "character 5: a number must follow"},
        {"p99>-5ms", "character 5: a number must follow"},
        {"p99>5.ms", "character 5: a number must follow"},
        {"p99>inf", "character 5: a number must follow"},
        {"p99>1234567890123456ms", "at most 15 characters"},
        {"p99>250", "character 8: p99 is a time: its unit is us, ms or s, not ''"},
        {"p99>250%", "character 8: p99 is a time: its unit is us, ms or s, not '%'"},
        {"p99>250 ms", "not ' ms'"},
        {"p99>250ms;failed>1%", "not 'ms;failed>1%'"},
        {"committed<5,failed>1ms", "character 21: failed counts orders: its unit is % (of all "
                                   "orders), /s (orders a second) or none (orders), not 'ms'"},
        {"failed>1e3", "not 'e3'"},
        {"failed>101%", "character 11: a share of all orders is 100 % at most"},
        {"max>1s,max>1s,max>1s,max>1s,max>1s,max>1s,max>1s,max>1s,max>1s,max>1s,max>1s,max>1s,"
         "max>1s,max>1s,max>1s,max>1s,max>1s",
         "character 113: at most 16 conditions"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        if (thresholds_parse("fail-if", mistakes[i].text, &list, &error))
            fail_msg("'%s' was taken", mistakes[i].text);
        if (!strstr(error.text, mistakes[i].says))
            fail_msg("'%s': %s, which does not say '%s'", mistakes[i].text, error.text,
                     mistakes[i].says);
    }
}

/* 2000 orders in ten seconds. */
static const struct measured ten_seconds = {
    .values = {1500, 9000, 250000, 1e6, 2000, 1900, 0, 60, 40},
    .per_s = {[THRESHOLD_ORDERS] = 200, [THRESHOLD_COMMITTED] = 190, [THRESHOLD_FAILED] = 4},
};

static void is_met(const char *text, bool met)
{
    take(text);
    if (threshold_is_met(&list.items[0], &ten_seconds) != met)
        fail_msg("%s is%s met", text, met ? " not" : "");
}

TEST(conditions_are_met_or_not)
{
    is_met("p99>249ms", true);
    is_met("p99>250ms", false);
    is_met("p99>=250ms", true);
    is_met("p99<0.25s", false);
    is_met("p99<=250000us", true);
    is_met("p50<2ms", true);
    is_met("failed>1%", true);
    is_met("failed>=2%", true);
    is_met("failed>2%", false);
    is_met("failed>40", false);
    is_met("failed>39", true);
    is_met("committed<1000", false);
    is_met("committed<190.5/s", true);
    is_met("accepted>0", false);
    is_met("refused>=3%", true);
}

/* A load of nothing has no failures, and only a threshold of its orders catches it. */
TEST(no_orders_are_no_share)
{
    static const struct measured nothing = {.values = {0}};
    take("failed>0%,orders<1");
    assert_false(threshold_is_met(&list.items[0], &nothing));
    assert_true(threshold_is_met(&list.items[1], &nothing));
}

TEST(the_first_that_is_not_met_is_found)
{
    take("failed>10%,p99>100ms,committed<5000");
    assert_ptr_equal(thresholds_find_broken(&list, &ten_seconds), &list.items[0]);
    take("failed<10%,committed>5000");
    assert_ptr_equal(thresholds_find_broken(&list, &ten_seconds), &list.items[1]);
    list.count = 1;
    assert_null(thresholds_find_broken(&list, &ten_seconds));
}

static void says(const char *text, const char *expected)
{
    char said[200];
    take(text);
    assert_string_equal(threshold_say_value(&list.items[0],
                                            threshold_value(&list.items[0], &ten_seconds), said,
                                            sizeof said),
                        expected);
}

TEST(it_says_by_how_much)
{
    says("p99>200ms", "p99>200ms: 250.0 ms, 50.0 ms more");
    says("p50<1ms", "p50<1ms: 1.500 ms, 0.500 ms more");
    says("p99>=250ms", "p99>=250ms: 250.0 ms");
    says("failed>1%", "failed>1%: 2.000 %, 1.000 % more");
    says("committed<3000", "committed<3000: 1900 orders, 1100 orders less");
    says("committed<200/s", "committed<200/s: 190.0 orders/s, 10.0 orders/s less");
}

TEST(what_is_not_measured_is_refused_with_its_reason)
{
    const char *missing[THRESHOLD_MEASURES] = {
        [THRESHOLD_MAX] = "nobody has a clock", [THRESHOLD_FAILED] = "nobody fails"};
    take("p99>1s,orders<1");
    assert_true(thresholds_are_measured("fail-if", &list, missing, &error));
    take("p99>1s,max>2s");
    assert_false(thresholds_are_measured("fail-if", &list, missing, &error));
    assert_string_equal(error.text,
                        "--fail-if: max is not measured here: nobody has a clock; there are p50, "
                        "p90, p99, orders, committed, accepted and refused");
}
