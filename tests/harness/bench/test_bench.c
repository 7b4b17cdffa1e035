/* What `bench` makes of its figures: met, missed, within noise, the generator's; and which process
 * was busy.
 */
#include "lib/t.h"

#include "bench/tools/steal.h"
#include "harness/bench/bench_case.h"
#include "harness/fixtures/has.h"

#include "base/clock.h"

#include <string.h>

TEST(a_ratio_of_medians_against_its_bound)
{
    struct bench_row of = case_row(0.85, false);
    case_measured(MEASURE_E, USAGE_SERVER, 80, 90, 100);
    case_measured(MEASURE_NGINX, USAGE_SERVER, 90, 100, 110);
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.ratio == 0.9);
    assert_true(case_judged.of.median == 90 && case_judged.of.least == 80 &&
                case_judged.of.most == 100);
    of.bound = 0.91;
    assert_int_equal(case_judge(&of), BENCH_MISSED);
    of.bound = 0;
    assert_int_equal(case_judge(&of), BENCH_TOLD);
}

TEST(at_most_is_the_other_way_round)
{
    struct bench_row of = case_row(1.3, true);
    case_measured(MEASURE_E, USAGE_NOBODY, 12, 12, 12);
    case_measured(MEASURE_NGINX, USAGE_NOBODY, 10, 10, 10);
    assert_int_equal(case_judge(&of), BENCH_MET);
    of.bound = 1.1;
    assert_int_equal(case_judge(&of), BENCH_MISSED);
    of.against.measure = MEASURE_NONE;
    of.bound = 12;
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.ratio == 12);
    of.bound = 11.9;
    assert_int_equal(case_judge(&of), BENCH_MISSED);
}

TEST(noise_is_said)
{
    struct bench_row of = case_row(0.9, false);
    case_measured(MEASURE_E, USAGE_SERVER, 80, 95, 96);
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.unsure); /* the first round alone would have missed */
    assert_false(case_judged.same);
    case_measured(MEASURE_E, USAGE_SERVER, 95, 95, 101);
    assert_int_equal(case_judge(&of), BENCH_MET);
    HAS(case_judged, unsure, false, same, true);
    case_measured(MEASURE_E, USAGE_SERVER, 60, 61, 62);
    assert_int_equal(case_judge(&of), BENCH_MISSED);
    assert_false(case_judged.unsure || case_judged.same);
}

TEST(the_generators_figures_are_not_told)
{
    struct bench_row of = case_row(0.5, false);
    case_measured(MEASURE_E, USAGE_SERVER, 90, 90, 90);
    case_measured(MEASURE_NGINX, USAGE_GENERATOR, 100, 100, 100);
    assert_int_equal(case_judge(&of), BENCH_GENERATOR);
    case_measured(MEASURE_NGINX, USAGE_BOTH, 100, 100, 100);
    assert_int_equal(case_judge(&of), BENCH_MET);
    case_series[MEASURE_NGINX].samples[0].limit = USAGE_GENERATOR; /* one round of three */
    assert_int_equal(case_judge(&of), BENCH_MET);
    case_measured(MEASURE_E, USAGE_GENERATOR, 90, 90, 90);
    assert_int_equal(case_judge(&of), BENCH_GENERATOR);
    for (size_t i = 0; i < 3; i++)
        case_series[MEASURE_E].samples[i].figures[FIGURE_CPU_US] = 1;
    of.of.figure = FIGURE_CPU_US; /* an answer's cost is the server's, whichever was busy */
    assert_int_equal(case_judge(&of), BENCH_MISSED);
}

TEST(what_is_missing_is_said)
{
    struct bench_row of = case_row(0.5, false);
    case_measured(MEASURE_E, USAGE_SERVER, 90, 90, 90);
    case_series[MEASURE_NGINX] =
        (struct bench_series){.wanted = true, .absent = true, .why = "gone"};
    assert_int_equal(case_judge(&of), BENCH_ABSENT);
    assert_string_equal(case_judged.why, "gone");
    case_series[MEASURE_NGINX].absent = false;
    assert_int_equal(case_judge(&of), BENCH_FAILED);
    case_measured(MEASURE_NGINX, USAGE_SERVER, 0, 0, 0);
    assert_int_equal(case_judge(&of), BENCH_FAILED);
    assert_true(*case_judged.why);
}

static int status_of(enum bench_verdict a, enum bench_verdict b)
{
    struct bench_judgement both[] = {{.verdict = a}, {.verdict = b}};
    return bench_exit_status(both, 2);
}

TEST(exit_statuses)
{
    assert_int_equal(status_of(BENCH_MET, BENCH_TOLD), 0);
    assert_int_equal(status_of(BENCH_MET, BENCH_ABSENT), 0);
    assert_int_equal(status_of(BENCH_GENERATOR, BENCH_MET), 2);
    assert_int_equal(status_of(BENCH_MET, BENCH_FAILED), 2);
    assert_int_equal(status_of(BENCH_FAILED, BENCH_MISSED), 1);
}

TEST(forms_and_rows)
{
    static struct bench_options options;
    struct error error;
    size_t brief = 0;
    for (size_t i = 0; i < bench_rows_count; i++) {
        const struct bench_row *of = &bench_rows[i];
        options = (struct bench_options){.full = false};
        brief += bench_row_wanted(of, &options);
        options.full = true;
        assert_int_equal(bench_row_wanted(of, &options), !of->apart);
        options.rows.count = 1;
        snprintf(options.rows.items[0], sizeof options.rows.items[0], "%d", of->number);
        assert_true(bench_row_wanted(of, &options));
        snprintf(options.rows.items[0], sizeof options.rows.items[0], "%d", of->number + 1);
        assert_false(bench_row_wanted(of, &options));
        assert_non_null(bench_measures[of->of.measure].name);
        assert_true(of->bound <= 0 || of->aim <= 0 ||
                    (of->most ? of->aim <= of->bound : of->aim >= of->bound));
    }
    options = (struct bench_options){.rows = {.count = 2, .items = {"1", "17"}}};
    assert_true(bench_rows_exist(&options, &error));
    snprintf(options.rows.items[1], sizeof options.rows.items[1], "1x");
    assert_false(bench_rows_exist(&options, &error));
    t_says(error.text, "'1x'");
    assert_true(brief > 0 && brief < bench_rows_count && bench_rows_count <= BENCH_ROWS_MAX);
}

TEST(limits)
{
    struct usage usage = {.seconds = 1, .generator_busy = 0.95, .server_busy = 0.4};
    assert_int_equal(usage_limit(&usage), USAGE_GENERATOR);
    usage.server_busy = 0.95;
    assert_int_equal(usage_limit(&usage), USAGE_BOTH);
    usage.generator_busy = 0.5;
    assert_int_equal(usage_limit(&usage), USAGE_SERVER);
    usage.server_busy = 0.5;
    assert_int_equal(usage_limit(&usage), USAGE_NOBODY);
    usage.seconds = 0;
    assert_int_equal(usage_limit(&usage), USAGE_UNKNOWN);
}

/* Two looks at threads that are made up: the busiest of the servers', the mean of wrk's. */
TEST(shares_of_the_time_watched)
{
    static struct usage_watch watch;
    watch = (struct usage_watch){.generator = 7, .looks = 2};
    watch.last.at_us = 2000000;
    const struct usage_thread first[] = {{7, 7, 5, 5}, {7, 8, 0, 0}, {9, 9, 1000000000, 0}};
    const struct usage_thread last[] = {{7, 7, 5, 5},
                                        {7, 8, 1000000000, 500000000},
                                        {7, 10, 500000000, 0},
                                        {9, 9, 1500000000, 0},
                                        {9, 11, 1000000000, 900000000}};
    memcpy(watch.first.threads, first, sizeof first);
    memcpy(watch.last.threads, last, sizeof last);
    watch.first.count = 3;
    watch.last.count = 5;
    struct usage usage = usage_watch_sum(&watch, 2);
    assert_true(usage.seconds == 2);
    assert_true(usage.generator_busy == 0.5);
    assert_true(usage.server_cpu == 0.75);
    assert_true(usage.server_busy == 0.95);
    watch.looks = 1;
    assert_true(usage_watch_sum(&watch, 2).seconds <= 0);
}

TEST(what_the_host_took)
{
    struct steal before, after;
    assert_true(steal_parse("cpu  100 10 50 900 40 5 15 20 0 0\n", &before));
    HAS(before, ran, 180, stolen, 20);
    after = (struct steal){before.ran + 300, before.stolen + 100};
    assert_true(steal_share(&before, &after) == 0.25);
    assert_true(steal_share(&before, &before) <= 0);
    after = (struct steal){before.ran + 300, before.stolen - 1}; /* a guest that was moved */
    assert_true(steal_share(&before, &after) <= 0);
    assert_false(steal_parse("cpu  100 10 50", &before)); /* older than what counts steal */
    assert_false(steal_parse("intr 1 2 3 4 5 6 7 8 9", &before));
    assert_int_equal(before.ran + before.stolen, 0);
    steal_look(&before);
    /* At least one core is wanted all the time: 30 ticks in 300 ms. A machine that stands still
     * meanwhile counts none. */
    int64_t until_us = clock_mono_us() + t_patience_us();
    do {
        double share = steal_probe(300);
        steal_look(&after);
        assert_true(share >= 0 && share <= 1);
        assert_true(clock_mono_us() < until_us);
    } while (after.ran - before.ran + after.stolen - before.stolen < 20);
}
