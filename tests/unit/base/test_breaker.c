/* When a breaker opens, and that it is shut again by what works and by time. */
#include "lib/t.h"

#include "base/clock.h"
#include "base/connect/breaker.h"

enum { LEAST_US = 1000, LONG_US = 1000000000, OPEN_MOST_US = 312500 };

TEST(a_failure_keeps_the_others_away_for_a_moment)
{
    struct breaker breaker = {0};
    int64_t begun_us = clock_mono_us();

    assert_false(breaker_is_open(&breaker));
    assert_true(breaker_trip(&breaker, begun_us, begun_us + LONG_US, LEAST_US));
    assert_true(breaker.open_until_us > begun_us);
    assert_true(breaker.open_until_us <= clock_mono_us() + OPEN_MOST_US);
    breaker.open_until_us = clock_mono_us() + LONG_US;
    assert_true(breaker_is_open(&breaker));
    breaker.open_until_us = clock_mono_us();
    assert_false(breaker_is_open(&breaker));
    breaker.open_until_us = clock_mono_us() + LONG_US;
    breaker_close(&breaker);
    assert_false(breaker_is_open(&breaker));
}

TEST(a_deadline_that_was_near_proves_nothing)
{
    struct breaker breaker = {0};
    int64_t now_us = clock_mono_us();

    assert_false(breaker_trip(&breaker, now_us - LEAST_US, now_us - 1, LEAST_US));
    assert_false(breaker_is_open(&breaker));
    assert_true(breaker_trip(&breaker, now_us - LEAST_US, now_us, LEAST_US));
}

TEST(a_failure_from_before_another_worked_proves_nothing)
{
    struct breaker breaker = {0};
    int64_t begun_us = clock_mono_us() - 1;

    breaker_close(&breaker);
    assert_false(breaker_trip(&breaker, begun_us, begun_us + LONG_US, LEAST_US));
    assert_false(breaker_is_open(&breaker));
    assert_true(breaker_trip(&breaker, clock_mono_us(), begun_us + LONG_US, LEAST_US));
}
