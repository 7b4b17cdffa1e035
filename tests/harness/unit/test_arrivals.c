/* The schedules of the open-loop generator. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/load/arrivals.h"

static struct arrivals_plan plan_of(enum arrivals_kind kind, double rate_per_s, int64_t seconds)
{
    return (struct arrivals_plan){.kind = kind,
                                  .seed = 7,
                                  .parts = {{"steady", rate_per_s, seconds * 1000000}},
                                  .parts_count = 1};
}

TEST(constant_arrivals_keep_their_distance)
{
    struct arrivals_plan plan = plan_of(ARRIVALS_CONSTANT, 1000, 2);
    struct arrivals arrivals;
    int64_t count = 0;
    for (arrivals_init(&arrivals, &plan); !arrivals.ended; arrivals_next(&arrivals)) {
        count++;
        assert_in_range(arrivals.at_us, count * 1000 - 1, count * 1000);
    }
    assert_in_range(count, 1999, 2000);
    assert_int_equal(arrivals_duration_us(&plan), 2000000);
}

/* Exponential gaps: their mean is 1 / rate, and so is their standard deviation. */
TEST(poisson_arrivals_have_mean_and_spread)
{
    struct arrivals_plan plan = plan_of(ARRIVALS_POISSON, 1000, 100);
    struct arrivals arrivals;
    double count = 0, squares = 0, before_us = 0;
    for (arrivals_init(&arrivals, &plan); !arrivals.ended; arrivals_next(&arrivals)) {
        double gap_us = (double)arrivals.at_us - before_us;
        assert_true(gap_us >= 0);
        squares += gap_us * gap_us;
        before_us = (double)arrivals.at_us;
        count++;
    }
    assert_true(count > 99000 && count < 101000);
    /* The mean square of an exponential is twice the square of its mean. */
    double ratio = squares / count / (1000.0 * 1000.0);
    assert_true(ratio > 1.94 && ratio < 2.06);
}

TEST(a_seed_is_a_schedule)
{
    struct arrivals_plan plan = plan_of(ARRIVALS_POISSON, 1000, 1);
    struct arrivals_plan other = plan;
    struct arrivals a, b, c;
    bool differs = false;
    other.seed = 8;
    arrivals_init(&a, &plan);
    arrivals_init(&b, &plan);
    arrivals_init(&c, &other);
    while (!a.ended && !c.ended) {
        assert_int_equal(a.at_us, b.at_us);
        differs = differs || a.at_us != c.at_us;
        arrivals_next(&a);
        arrivals_next(&b);
        arrivals_next(&c);
    }
    assert_true(differs);
}

TEST(each_part_has_its_rate)
{
    for (int kind = ARRIVALS_POISSON; kind <= ARRIVALS_CONSTANT; kind++) {
        struct arrivals_plan plan = {
            .kind = (enum arrivals_kind)kind,
            .seed = 3,
            .parts = {{"idle", 100, 2000000}, {"bell", 10000, 1000000}, {"tail", 0.5, 4000000}},
            .parts_count = 3};
        int64_t counts[3] = {0}, before_us = 0;
        struct arrivals arrivals;
        for (arrivals_init(&arrivals, &plan); !arrivals.ended; arrivals_next(&arrivals)) {
            counts[arrivals.part]++;
            assert_true(arrivals.at_us >= before_us);
            before_us = arrivals.at_us;
            assert_true(arrivals.part != 0 || arrivals.at_us < 2000000);
            assert_true(arrivals.part != 1 ||
                        (arrivals.at_us >= 2000000 && arrivals.at_us < 3000000));
        }
        assert_in_range(counts[0], 150, 250);
        assert_in_range(counts[1], 9600, 10400);
        assert_in_range(counts[2], 0, 8);
        assert_true(before_us < 7000000);
    }
}

/* Half of a gap at two a second is half of one at one a second. */
TEST(a_gap_goes_on_into_the_next_part)
{
    struct arrivals_plan plan = {.kind = ARRIVALS_CONSTANT,
                                 .parts = {{"idle", 2, 750000}, {"bell", 1, 1000000}},
                                 .parts_count = 2};
    struct arrivals arrivals;
    arrivals_init(&arrivals, &plan);
    assert_int_equal(arrivals.at_us, 500000);
    arrivals_next(&arrivals);
    HAS(arrivals, at_us, 1250000, part, 1);
    arrivals_next(&arrivals);
    assert_true(arrivals.ended);
}
