#include "lib/t.h"

#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct sample {
    const char *text;
    int64_t us;
};

TEST(formats)
{
    static const struct sample samples[] = {
        {"1970-01-01T00:00:00.000000Z", 0},
        {"1969-12-31T23:59:59.999999Z", -1},
        {"2000-02-29T12:34:56.000001Z", INT64_C(951827696000001)},
        {"2026-11-20T08:00:00.000000Z", INT64_C(1795161600000000)},
        {"0001-01-01T00:00:00.000000Z", INT64_C(-62135596800000000)},
        {"9999-12-31T23:59:59.999999Z", INT64_C(253402300799999999)},
    };

    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char text[CLOCK_RFC3339_LENGTH + 1];
        int64_t us;
        clock_format_rfc3339(samples[i].us, text);
        assert_string_equal(text, samples[i].text);
        assert_true(clock_parse_rfc3339(text, &us));
        assert_int_equal(us, samples[i].us);
    }
}

TEST(format_stays_within_four_digits)
{
    char text[CLOCK_RFC3339_LENGTH + 1];

    clock_format_rfc3339(INT64_MIN, text);
    assert_string_equal(text, "0001-01-01T00:00:00.000000Z");
    clock_format_rfc3339(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999999Z");
}

/* Against the C library, over four centuries and every day in them. */
TEST(agrees_with_gmtime)
{
    for (int64_t day = -80000; day < 80000; day++) {
        int64_t us = (day * 86400 + 3723) * CLOCK_US_PER_S;
        time_t seconds = (time_t)(us / CLOCK_US_PER_S);
        struct tm parts;
        char expected[64];
        char text[CLOCK_RFC3339_LENGTH + 1];
        int64_t parsed;

        assert_non_null(gmtime_r(&seconds, &parts));
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.000000Z", &parts);
        clock_format_rfc3339(us, text);
        assert_string_equal(text, expected);
        assert_true(clock_parse_rfc3339(text, &parsed));
        assert_int_equal(parsed, us);
    }
}

TEST(parses_what_rfc3339_allows)
{
    static const struct sample samples[] = {
        {"2026-11-20T08:00:00Z", INT64_C(1795161600000000)},
        {"2026-11-20t08:00:00z", INT64_C(1795161600000000)},
        {"2026-11-20T08:00:00.5Z", INT64_C(1795161600500000)},
        {"2026-11-20T08:00:00.000123Z", INT64_C(1795161600000123)},
        {"2026-11-20T08:00:00.0001239Z", INT64_C(1795161600000123)},
        {"2026-11-20T08:00:00.999999999Z", INT64_C(1795161600999999)},
        {"2026-11-20T16:00:00+08:00", INT64_C(1795161600000000)},
        {"2026-11-19T20:30:00-11:30", INT64_C(1795161600000000)},
        {"2026-11-20T08:00:00-00:00", INT64_C(1795161600000000)},
        {"2024-02-29T00:00:00Z", INT64_C(1709164800000000)},
    };

    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        int64_t us;
        assert_true(clock_parse_rfc3339(samples[i].text, &us));
        assert_int_equal(us, samples[i].us);
    }
}

TEST(refuses_everything_else)
{
    static const char *const texts[] = {
        "",
        "now",
        "2026-11-20",
        "2026-11-20T08:00:00",
        "2026-11-20 08:00:00Z",
        " 2026-11-20T08:00:00Z",
        "2026-11-20T08:00:00Z ",
        "2026-11-20T08:00:00ZZ",
        "2026-11-20T08:00Z",
        "2026-1-20T08:00:00Z",
        "26-11-20T08:00:00Z",
        "+2026-11-20T08:00:00Z",
        "2026-13-20T08:00:00Z",
        "2026-00-20T08:00:00Z",
        "2026-11-00T08:00:00Z",
        "2026-11-31T08:00:00Z",
        "2026-02-29T08:00:00Z",
        "2100-02-29T08:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T08:60:00Z",
        "2026-12-31T23:59:60Z", /* a leap second */
        "2026-11-20T08:00:00.Z",
        "2026-11-20T08:00:00,5Z",
        "2026-11-20T08:00:00.1234567890Z",
        "2026-11-20T08:00:00+24:00",
        "2026-11-20T08:00:00+08:60",
        "2026-11-20T08:00:00+0800",
        "2026-11-20T08:00:00+08",
        "2026-11-20T08:00:00+08:00Z",
        "2026-11-20T08:00:00 +08:00",
        "0001-01-01T00:00:00+00:01", /* before year 1 */
        "9999-12-31T23:59:59-00:01", /* after year 9999 */
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t us = 42;
        if (clock_parse_rfc3339(texts[i], &us))
            fail_msg("taken: %s", texts[i]);
        assert_int_equal(us, 42);
    }
}

/* Whatever is cut off, and whatever single character is put in its place, it never reads on. */
TEST(survives_damage)
{
    static const char whole[] = "2026-11-20T08:00:00.123456+08:00";

    for (size_t cut = 0; cut < sizeof whole - 1; cut++) {
        char *text =
            test_malloc(cut + 1); /* exactly as long: AddressSanitizer sees a step too far */
        int64_t us;
        memcpy(text, whole, cut);
        text[cut] = '\0';
        assert_false(clock_parse_rfc3339(text, &us));
        test_free(text);
    }
}

TEST(monotonic_never_goes_back)
{
    int64_t last_us = clock_mono_us();
    for (int i = 0; i < 100000; i++) {
        int64_t now_us = clock_mono_us();
        assert_true(now_us >= last_us);
        last_us = now_us;
    }
}

TEST(wall_is_the_wall)
{
    int64_t before_us = (int64_t)time(NULL) * CLOCK_US_PER_S;
    int64_t now_us = clock_wall_us();
    int64_t after_us = ((int64_t)time(NULL) + 1) * CLOCK_US_PER_S;

    /* time(2) may lag behind clock_gettime(2) by a tick, never by a second. */
    assert_true(now_us >= before_us);
    assert_true(now_us <= after_us + CLOCK_US_PER_S);
}

TEST(poll_rounds_up)
{
    int64_t now_us = clock_mono_us();

    assert_int_equal(clock_poll_ms(now_us), 0);
    assert_int_equal(clock_poll_ms(now_us - CLOCK_US_PER_S), 0);
    assert_int_equal(clock_poll_ms(INT64_MIN), 0);
    assert_int_equal(clock_poll_ms(INT64_MAX), INT_MAX);

    /* Waiting as long as it says is never too short, and never longer than a millisecond too long.
     */
    for (int i = 0; i < 10000; i++) {
        int64_t deadline_us = clock_mono_us() + 5000 + i;
        int64_t before_us = clock_mono_us();
        int64_t says_us = clock_poll_ms(deadline_us) * CLOCK_US_PER_MS;
        int64_t after_us = clock_mono_us();
        assert_true(after_us + says_us >= deadline_us);
        assert_true(says_us < (deadline_us > before_us ? deadline_us - before_us : 0) + 1000);
    }
}

TEST(timespec_keeps_microseconds)
{
    struct timespec at = clock_timespec(INT64_C(12345678901));
    assert_int_equal(at.tv_sec, 12345);
    assert_int_equal(at.tv_nsec, 678901000);
    at = clock_timespec(-5);
    assert_int_equal(at.tv_sec, 0);
    assert_int_equal(at.tv_nsec, 0);
}

TEST(sleeps_until)
{
    int64_t deadline_us = clock_mono_us() + 20 * CLOCK_US_PER_MS;
    clock_sleep_until(deadline_us);
    assert_true(clock_mono_us() >= deadline_us);
    clock_sleep_until(0);
    clock_sleep_until(-1);
}
