/* The steps that latencies are counted in, what is read of them (quantiles, to a sixteenth), their
 * text, and their order in time. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/load/load.h"

#include <stdlib.h>

TEST(steps_follow_each_other)
{
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

TEST(powers_of_two_end_a_step)
{
    for (int power = 0; power <= 32; power++) {
        int64_t us = INT64_C(1) << power;
        assert_int_equal(histogram_step_end(histogram_step(us)), us);
    }
}

/* The bound that the headers and --help state. */
TEST(the_error_is_at_most_a_sixteenth)
{
    for (int64_t us = 1; us < INT64_C(1) << 32; us += us / 97 + 1) {
        struct latency latency = {.count = 0};
        latency_add(&latency, us);
        latency_add(&latency, us * 3); /* so that the largest is another */
        int64_t read_us = latency_quantile_us(&latency, 0.5);
        assert_true(read_us >= us);
        assert_true((read_us - us) * 16 <= us);
    }
}

TEST(quantiles_are_of_the_whole)
{
    struct latency sum = {.count = 0}, one = {.count = 0};
    assert_int_equal(latency_read(&sum).p99_us, 0);
    for (int i = 0; i < 99; i++)
        latency_add(&sum, 10);
    latency_add(&one, 500000);
    latency_merge(&sum, &one);
    struct latency_figures figures = latency_read(&sum);
    HAS(figures, count, 100, p50_us, 10, p99_us, 10, p999_us, 500000, max_us, 500000);
}

TEST(a_text_gives_them_back)
{
    struct latency before = {.count = 0}, after = {.count = 0};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);

    static const int64_t taken[] = {0, 1, 17, 1000, 1000, 1001, INT64_C(5000000001)};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        latency_add(&before, taken[i]);
    latency_write(to, &before);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, "1:2 17:1 1024:3 5000000001:1");
    assert_true(latency_parse(text, &after));
    assert_memory_equal(&after, &before, sizeof after);
    assert_true(latency_parse("", &after));
    assert_int_equal(after.count, 7);
    free(text);
}

TEST(another_text_is_refused)
{
    static const char *const texts[] = {"x",    "1",    "1:",    ":1",    "1:2,3:4",
                                        "-1:2", "1:-2", "1.5:2", "1:2 x", "1234567890123456:1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct latency latency = {.count = 0};
        if (latency_parse(texts[i], &latency))
            fail_msg("%s", texts[i]);
    }
}

static const int64_t BEGAN = 7000000, SECOND = 1000000;

/* An order counts where it was due, its answer where it came. */
TEST(a_timeline_says_what_was_when)
{
    static struct timeline timeline;
    timeline_begin(&timeline, BEGAN, 2 * SECOND);
    timeline_offered(&timeline, BEGAN);
    timeline_offered(&timeline, BEGAN + 99999);
    timeline_offered(&timeline, BEGAN + 100000);
    timeline_answered(&timeline, LOAD_COMMITTED, BEGAN, BEGAN + 2 * SECOND);
    timeline_answered(&timeline, LOAD_REFUSED, BEGAN, BEGAN + 100000);
    timeline_answered(&timeline, LOAD_FAILED, BEGAN, BEGAN + 60 * SECOND);
    assert_int_equal(timeline.slice_us, 100000);
    assert_int_equal(timeline.count, 21); /* one more than planned, in which the last answer is */
    const struct latency *due = timeline.slices[0].latencies;
    HAS(timeline, slices[0].offered, 2, slices[1].offered, 1, slices[20].answered[LOAD_COMMITTED],
        1, slices[1].answered[LOAD_REFUSED], 1);
    assert_int_equal(latency_read(&due[LOAD_COMMITTED]).p99_us, 2 * SECOND);
    assert_int_equal(latency_read(&due[LOAD_REFUSED]).p50_us, 100000);
    assert_int_equal(latency_read(&due[LOAD_FAILED]).p50_us, 60 * SECOND);
    assert_int_equal(latency_read(&due[LOAD_ACCEPTED]).p50_us, 0);
}

TEST(a_long_load_has_longer_slices)
{
    static struct timeline timeline, none;
    timeline_begin(&timeline, BEGAN, 86400 * SECOND);
    timeline_answered(&timeline, LOAD_FAILED, BEGAN, BEGAN + 200000 * SECOND);
    HAS(timeline, count, TIMELINE_SLICES, slice_us, 864000000);
    timeline_offered(&none, BEGAN);
    timeline_answered(&none, LOAD_FAILED, BEGAN, BEGAN);
    assert_int_equal(none.count, 0);
}
