/* What `bench` makes of its figures: met, missed, within noise, the generator's; and who was busy.
 */
#include "lib/t.h"

#include "loadtest/bench.h"
#include "loadtest/steal.h"

#include <stdio.h>
#include <string.h>

static struct bench_series series[BENCH_MEASURES];
static struct bench_judgement judged;

/* A row of the figures of E against those of nginx. */
static struct bench_row row(double bound, bool most)
{
    return (struct bench_row){.number = 1,
                              .what = "a row",
                              .of = {MEASURE_E, FIGURE_RATE},
                              .against = {MEASURE_NGINX, FIGURE_RATE},
                              .bound = bound,
                              .most = most};
}

static void measured(enum bench_measure_id id, enum usage_limit limit, double a, double b, double c)
{
    const double values[] = {a, b, c};
    series[id] = (struct bench_series){.wanted = true, .count = 3};
    for (size_t i = 0; i < 3; i++) {
        series[id].samples[i].round = (int)i + 1;
        series[id].samples[i].figures[FIGURE_RATE] = values[i];
        series[id].samples[i].limit = limit;
    }
}

static enum bench_verdict judge(const struct bench_row *of)
{
    bench_judge(of, series, &judged);
    return judged.verdict;
}

static void a_ratio_of_medians_against_its_bound(void **state)
{
    (void)state;
    struct bench_row of = row(0.85, false);
    measured(MEASURE_E, USAGE_SERVER, 80, 90, 100);
    measured(MEASURE_NGINX, USAGE_SERVER, 90, 100, 110);
    assert_int_equal(judge(&of), BENCH_MET);
    assert_true(judged.ratio == 0.9);
    assert_true(judged.of.median == 90 && judged.of.least == 80 && judged.of.most == 100);
    of.bound = 0.91;
    assert_int_equal(judge(&of), BENCH_MISSED);
    of.bound = 0;
    assert_int_equal(judge(&of), BENCH_TOLD);
}

static void at_most_is_the_other_way_round(void **state)
{
    (void)state;
    struct bench_row of = row(1.3, true);
    measured(MEASURE_E, USAGE_NOBODY, 12, 12, 12);
    measured(MEASURE_NGINX, USAGE_NOBODY, 10, 10, 10);
    assert_int_equal(judge(&of), BENCH_MET);
    of.bound = 1.1;
    assert_int_equal(judge(&of), BENCH_MISSED);
    of.against.measure = MEASURE_NONE;
    of.bound = 12;
    assert_int_equal(judge(&of), BENCH_MET);
    assert_true(judged.ratio == 12);
    of.bound = 11.9;
    assert_int_equal(judge(&of), BENCH_MISSED);
}

static void noise_is_said(void **state)
{
    (void)state;
    struct bench_row of = row(0.9, false);
    measured(MEASURE_E, USAGE_SERVER, 80, 95, 96);
    measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    assert_int_equal(judge(&of), BENCH_MET);
    assert_true(judged.unsure); /* the first round alone would have missed */
    assert_false(judged.same);
    measured(MEASURE_E, USAGE_SERVER, 95, 95, 101);
    assert_int_equal(judge(&of), BENCH_MET);
    assert_false(judged.unsure);
    assert_true(judged.same);
    measured(MEASURE_E, USAGE_SERVER, 60, 61, 62);
    assert_int_equal(judge(&of), BENCH_MISSED);
    assert_false(judged.unsure || judged.same);
}

/* Rounds `first` to `last` as well, all alike. */
static void measured_again(enum bench_measure_id id, int first, int last, double value)
{
    for (int round = first; round <= last; round++) {
        struct bench_sample *sample = &series[id].samples[series[id].count++];
        *sample = series[id].samples[0];
        sample->round = round;
        sample->robbed = false;
        sample->figures[FIGURE_RATE] = value;
    }
}

static void a_side_with_more_rounds_is_not_compared_by_them(void **state)
{
    (void)state;
    struct bench_row of = row(0.85, false);
    measured(MEASURE_E, USAGE_SERVER, 80, 90, 100);
    measured(MEASURE_NGINX, USAGE_SERVER, 90, 100, 110);
    measured_again(MEASURE_NGINX, 4, 6, 1000);
    assert_int_equal(judge(&of), BENCH_MET);
    assert_true(judged.ratio == 0.9 && judged.against.most == 110);
    assert_int_equal(judged.rounds, 3);
    measured_again(MEASURE_E, 5, 7, 100);
    assert_int_equal(judge(&of), BENCH_MET); /* rounds 1, 2, 3, 5 and 6 */
    assert_int_equal(judged.rounds, 5);
    assert_true(judged.of.median == 100 && judged.against.median == 110);
}

static void robbed(enum bench_measure_id id, size_t which)
{
    series[id].samples[which].robbed = true;
}

/* Whatever its figures, and whichever side was robbed. */
static void a_robbed_round_is_left_out_where_three_others_are_left(void **state)
{
    (void)state;
    struct bench_row of = row(0.85, false);
    measured(MEASURE_E, USAGE_SERVER, 80, 88, 10);
    measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    robbed(MEASURE_E, 2);
    assert_int_equal(judge(&of), BENCH_MISSED); /* two others: all three count */
    assert_int_equal(judged.rounds, 3);
    assert_int_equal(judged.left_out, 0);
    assert_true(judged.robbed && judged.least == 0.1);
    measured_again(MEASURE_E, 4, 4, 88);
    measured_again(MEASURE_NGINX, 4, 4, 100);
    assert_int_equal(judge(&of), BENCH_MET);
    assert_int_equal(judged.rounds, 3);
    assert_int_equal(judged.left_out, 1);
    assert_true(!judged.robbed && judged.least == 0.8);
    robbed(MEASURE_NGINX, 1);
    assert_int_equal(judge(&of), BENCH_MISSED);
    assert_true(judged.robbed && judged.rounds == 4 && judged.left_out == 0);
    measured(MEASURE_E, USAGE_SERVER, 80, 90, 1000);
    measured_again(MEASURE_E, 4, 4, 80);
    robbed(MEASURE_E, 2); /* a round that would have helped */
    measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    measured_again(MEASURE_NGINX, 4, 4, 100);
    assert_int_equal(judge(&of), BENCH_MISSED);
    assert_true(judged.left_out == 1 && judged.most == 0.9);
    of.against.measure = MEASURE_NONE;
    assert_int_equal(judge(&of), BENCH_MET);
    assert_true(judged.left_out == 1 && judged.rounds == 3 && judged.most == 90);
}

static bool again(const struct bench_row *first, const struct bench_row *second, int64_t until_ms)
{
    const struct bench_row *const both[] = {first, second};
    for (size_t i = 0; i < BENCH_MEASURES; i++)
        series[i].took_ms = 3000;
    bool any = bench_choose_again(both, 2, series, 3, 1000, until_ms);
    assert_int_equal(any, series[MEASURE_E].again || series[MEASURE_BATCH].again);
    return series[MEASURE_E].again;
}

/* Whether its medians reach the bound or not. */
static void rows_within_noise_are_measured_again(void **state)
{
    (void)state;
    struct bench_row noisy = row(0.9, false), clear = row(0.5, false);
    clear.of.measure = MEASURE_BATCH;
    measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    measured(MEASURE_BATCH, USAGE_SERVER, 90, 95, 96);
    measured(MEASURE_E, USAGE_SERVER, 80, 95, 96);
    assert_int_equal(judge(&noisy), BENCH_MET);
    assert_true(again(&clear, &noisy, INT64_MAX));
    assert_true(series[MEASURE_NGINX].again);
    assert_false(series[MEASURE_BATCH].again);
    measured(MEASURE_E, USAGE_SERVER, 80, 85, 96);
    assert_int_equal(judge(&noisy), BENCH_MISSED);
    assert_true(again(&noisy, &clear, INT64_MAX));
    measured(MEASURE_E, USAGE_SERVER, 80, 85, 86);
    assert_int_equal(judge(&noisy), BENCH_MISSED);
    assert_false(again(&noisy, &clear, INT64_MAX));
    noisy.bound = 0; /* a row that is told has nothing to reach */
    measured(MEASURE_E, USAGE_SERVER, 80, 95, 96);
    assert_false(again(&noisy, &clear, INT64_MAX));
}

static void robbed_rounds_are_measured_again(void **state)
{
    (void)state;
    struct bench_row of = row(0.5, false), other = row(0.5, false);
    other.of.measure = MEASURE_BATCH;
    measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    measured(MEASURE_BATCH, USAGE_SERVER, 90, 95, 96);
    measured(MEASURE_E, USAGE_SERVER, 90, 95, 96);
    robbed(MEASURE_E, 0);
    assert_true(again(&of, &other, INT64_MAX));
    assert_false(series[MEASURE_BATCH].again);
    measured_again(MEASURE_E, 4, 4, 96);
    measured_again(MEASURE_NGINX, 4, 4, 100);
    assert_false(again(&of, &other, INT64_MAX));
    const struct bench_row *const alone = &of;
    assert_false(bench_choose_again(&alone, 1, series, 3, 1000, INT64_MAX));
    assert_true(bench_choose_again(&alone, 1, series, 4, 1000, INT64_MAX)); /* --rounds 4 */
    robbed(MEASURE_NGINX, 2); /* of both rows; the other one has no round of its own left for it */
    assert_true(again(&of, &other, INT64_MAX));
    assert_true(series[MEASURE_BATCH].again);
}

/* A round of a side takes a second here. */
static void as_far_as_there_is_time(void **state)
{
    (void)state;
    struct bench_row first = row(0.9, false), second = row(0.9, false);
    second.of.measure = MEASURE_BATCH;
    measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    measured(MEASURE_BATCH, USAGE_SERVER, 80, 95, 96);
    measured(MEASURE_E, USAGE_SERVER, 80, 95, 96);
    assert_false(again(&first, &second, 1000 + 1999));
    assert_false(series[MEASURE_BATCH].again);
    assert_true(again(&first, &second, 1000 + 2000));
    assert_false(series[MEASURE_BATCH].again);
    assert_true(again(&first, &second, 1000 + 3000)); /* nginx is measured once for both */
    assert_true(series[MEASURE_BATCH].again);
    first.against = first.of;
    first.against.figure = FIGURE_OVERLOADED; /* both sides of one measurement: it is made once */
    for (size_t i = 0; i < 3; i++)
        series[MEASURE_E].samples[i].figures[FIGURE_OVERLOADED] = 100;
    assert_true(again(&first, &first, 1000 + 1000));
    assert_false(series[MEASURE_NGINX].again);
}

static void the_generators_figures_are_not_told(void **state)
{
    (void)state;
    struct bench_row of = row(0.5, false);
    measured(MEASURE_E, USAGE_SERVER, 90, 90, 90);
    measured(MEASURE_NGINX, USAGE_GENERATOR, 100, 100, 100);
    assert_int_equal(judge(&of), BENCH_GENERATOR);
    measured(MEASURE_NGINX, USAGE_BOTH, 100, 100, 100);
    assert_int_equal(judge(&of), BENCH_MET);
    series[MEASURE_NGINX].samples[0].limit = USAGE_GENERATOR; /* one round of three */
    assert_int_equal(judge(&of), BENCH_MET);
    measured(MEASURE_E, USAGE_GENERATOR, 90, 90, 90);
    assert_int_equal(judge(&of), BENCH_GENERATOR);
    for (size_t i = 0; i < 3; i++)
        series[MEASURE_E].samples[i].figures[FIGURE_CPU_US] = 1;
    of.of.figure = FIGURE_CPU_US; /* what an answer costs is the server's, whoever waits */
    assert_int_equal(judge(&of), BENCH_MISSED);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    struct bench_row of = row(0.5, false);
    measured(MEASURE_E, USAGE_SERVER, 90, 90, 90);
    series[MEASURE_NGINX] = (struct bench_series){.wanted = true, .absent = true, .why = "gone"};
    assert_int_equal(judge(&of), BENCH_ABSENT);
    assert_string_equal(judged.why, "gone");
    series[MEASURE_NGINX].absent = false;
    assert_int_equal(judge(&of), BENCH_FAILED);
    measured(MEASURE_NGINX, USAGE_SERVER, 0, 0, 0);
    assert_int_equal(judge(&of), BENCH_FAILED);
    assert_true(*judged.why);
}

static int status_of(enum bench_verdict a, enum bench_verdict b)
{
    struct bench_judgement both[] = {{.verdict = a}, {.verdict = b}};
    return bench_exit_status(both, 2);
}

static void exit_statuses(void **state)
{
    (void)state;
    assert_int_equal(status_of(BENCH_MET, BENCH_TOLD), 0);
    assert_int_equal(status_of(BENCH_MET, BENCH_ABSENT), 0);
    assert_int_equal(status_of(BENCH_GENERATOR, BENCH_MET), 2);
    assert_int_equal(status_of(BENCH_MET, BENCH_FAILED), 2);
    assert_int_equal(status_of(BENCH_FAILED, BENCH_MISSED), 1);
}

static void forms_and_rows(void **state)
{
    (void)state;
    static struct options options;
    struct problem problem;
    size_t brief = 0;
    for (size_t i = 0; i < bench_rows_count; i++) {
        const struct bench_row *of = &bench_rows[i];
        options = (struct options){.full = false};
        brief += bench_row_wanted(of, &options);
        options.full = true;
        assert_true(bench_row_wanted(of, &options));
        options.rows.count = 1;
        snprintf(options.rows.items[0], sizeof options.rows.items[0], "%d", of->number + 1);
        assert_false(bench_row_wanted(of, &options));
        assert_non_null(bench_measures[of->of.measure].take);
        assert_true(of->bound <= 0 || of->aim <= 0 ||
                    (of->most ? of->aim <= of->bound : of->aim >= of->bound));
    }
    options = (struct options){.rows = {.count = 2, .items = {"1", "17"}}};
    assert_true(bench_rows_exist(&options, &problem));
    snprintf(options.rows.items[1], sizeof options.rows.items[1], "1x");
    assert_false(bench_rows_exist(&options, &problem));
    assert_non_null(strstr(problem.text, "'1x'"));
    assert_true(brief > 0 && brief < bench_rows_count && bench_rows_count <= BENCH_ROWS_MAX);
}

static void limits(void **state)
{
    (void)state;
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
static void shares_of_the_time_watched(void **state)
{
    (void)state;
    static struct usage_watch watch;
    watch = (struct usage_watch){.generator = 7, .looks = 2};
    watch.last.at_ns = 2000000000;
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
    assert_true(usage.generator_cpu == 0.75);
    assert_true(usage.generator_busy == 0.5);
    assert_true(usage.server_cpu == 0.75);
    assert_true(usage.server_busy == 0.95);
    watch.looks = 1;
    assert_true(usage_watch_sum(&watch, 2).seconds <= 0);
}

static void what_the_host_took(void **state)
{
    (void)state;
    struct steal before, after;
    assert_true(steal_parse("cpu  100 10 50 900 40 5 15 20 0 0\n", &before));
    assert_int_equal(before.ran, 180);
    assert_int_equal(before.stolen, 20);
    after = (struct steal){before.ran + 300, before.stolen + 100};
    assert_true(steal_share(&before, &after) == 0.25);
    assert_true(steal_share(&before, &before) <= 0);
    after = (struct steal){before.ran + 300, before.stolen - 1}; /* a guest that was moved */
    assert_true(steal_share(&before, &after) <= 0);
    assert_false(steal_parse("cpu  100 10 50", &before)); /* older than what counts steal */
    assert_false(steal_parse("intr 1 2 3 4 5 6 7 8 9", &before));
    assert_int_equal(before.ran + before.stolen, 0);
    steal_look(&before);
    double share = steal_probe(300);
    steal_look(&after);
    assert_true(share >= 0 && share <= 1);
    /* at least one core was wanted all the time: 30 ticks */
    assert_true(after.ran - before.ran + after.stolen - before.stolen >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ratio_of_medians_against_its_bound),
        cmocka_unit_test(at_most_is_the_other_way_round),
        cmocka_unit_test(noise_is_said),
        cmocka_unit_test(a_side_with_more_rounds_is_not_compared_by_them),
        cmocka_unit_test(a_robbed_round_is_left_out_where_three_others_are_left),
        cmocka_unit_test(rows_within_noise_are_measured_again),
        cmocka_unit_test(robbed_rounds_are_measured_again),
        cmocka_unit_test(as_far_as_there_is_time),
        cmocka_unit_test(the_generators_figures_are_not_told),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(exit_statuses),
        cmocka_unit_test(forms_and_rows),
        cmocka_unit_test(limits),
        cmocka_unit_test(shares_of_the_time_watched),
        cmocka_unit_test(what_the_host_took),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
