/* The steps that latencies are counted in. */
#include "lib/t.h"

#include "loadtest/load/latency.h"

static void steps_follow_each_other(void **state)
{
    (void)state;
    assert_int_equal(histogram_step(INT64_MIN), 0);
    assert_int_equal(histogram_step(0), 0);
    for (size_t step = 0; step < HISTOGRAM_STEPS - 1; step++) {
        int64_t end = histogram_step_end(step);
        assert_int_equal(histogram_step(end), step);
        assert_int_equal(histogram_step(end + 1), step + 1);
    }
    assert_int_equal(histogram_step_end(HISTOGRAM_STEPS - 1), INT64_MAX);
    assert_int_equal(histogram_step(INT64_MAX), HISTOGRAM_STEPS - 1);
}

static void powers_of_two_end_a_step(void **state)
{
    (void)state;
    for (int power = 0; power <= 32; power++) {
        int64_t us = INT64_C(1) << power;
        assert_int_equal(histogram_step_end(histogram_step(us)), us);
    }
}

static void the_error_is_at_most_a_sixteenth(void **state)
{
    (void)state;
    for (int64_t us = 1; us < INT64_C(1) << 32; us += us / 97 + 1) {
        int64_t end = histogram_step_end(histogram_step(us));
        assert_true(end >= us);
        assert_true((end - us) * 16 <= us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_follow_each_other),
        cmocka_unit_test(powers_of_two_end_a_step),
        cmocka_unit_test(the_error_is_at_most_a_sixteenth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
