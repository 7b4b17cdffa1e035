/* What `bench` makes of its figures, which are made up here: met, missed, within noise, the
 * generator's; which rounds count, and which are made again: noise, steal, a late generator; and
 * which process was busy. */
#include "lib/t.h"

#include "base/clock.h"
#include "bench/judge.h"
#include "bench/tools/steal.h"
#include "harness/fixtures/has.h"

#include <string.h>

static struct bench_series case_series[BENCH_MEASURES];
static struct bench_judgement case_judged; /* by the last case_judge */

/* The figures of E against those of nginx. */
static struct bench_row case_row(double bound, bool most)
{
    return (struct bench_row){.number = 1,
                              .what = "a row",
                              .of = {MEASURE_E, FIGURE_RATE},
                              .against = {MEASURE_NGINX, FIGURE_RATE},
                              .bound = bound,
                              .most = most};
}

/* Rounds 1 to 3. */
static void case_measured(enum bench_measure_id id, enum usage_limit limit, double a, double b,
                          double c)
{
    const double values[] = {a, b, c};
    case_series[id] = (struct bench_series){.wanted = true, .count = 3};
    for (size_t i = 0; i < 3; i++) {
        case_series[id].samples[i].round = (int)i + 1;
        case_series[id].samples[i].figures[FIGURE_RATE] = values[i];
        case_series[id].samples[i].limit = limit;
    }
}

static enum bench_verdict case_judge(const struct bench_row *of)
{
    bench_judge(of, case_series, &case_judged);
    return case_judged.verdict;
}

/* Rounds `first` to `last` as well, all alike. */
static void case_again(enum bench_measure_id id, int first, int last, double value)
{
    for (int round = first; round <= last; round++) {
        struct bench_sample *sample = &case_series[id].samples[case_series[id].count++];
        *sample = case_series[id].samples[0];
        sample->round = round;
        sample->steal = BENCH_CALM;
        sample->figures[FIGURE_RATE] = value;
    }
}

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

/* Rounds -------------------------------------------------------------------------------------- */

TEST(a_side_with_more_rounds_is_not_compared_by_them)
{
    struct bench_row of = case_row(0.85, false);
    case_measured(MEASURE_E, USAGE_SERVER, 80, 90, 100);
    case_measured(MEASURE_NGINX, USAGE_SERVER, 90, 100, 110);
    case_again(MEASURE_NGINX, 4, 6, 1000);
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.ratio == 0.9 && case_judged.against.most == 110);
    assert_int_equal(case_judged.rounds, 3);
    case_again(MEASURE_E, 5, 7, 100);
    assert_int_equal(case_judge(&of), BENCH_MET); /* rounds 1, 2, 3, 5 and 6 */
    assert_int_equal(case_judged.rounds, 5);
    assert_true(case_judged.of.median == 100 && case_judged.against.median == 110);
}

static void robbed(enum bench_measure_id id, size_t which)
{
    case_series[id].samples[which].steal = BENCH_ROBBED;
}

/* Whatever its figures, and whichever side was robbed. */
TEST(a_robbed_round_is_left_out_where_three_others_are_left)
{
    struct bench_row of = case_row(0.85, false);
    case_measured(MEASURE_E, USAGE_SERVER, 80, 88, 10);
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    robbed(MEASURE_E, 2);
    assert_int_equal(case_judge(&of), BENCH_MISSED); /* two others: all three count */
    HAS(case_judged, rounds, 3, left_out, 0);
    assert_true(case_judged.with_steal && case_judged.least == 0.1);
    case_again(MEASURE_E, 4, 4, 88);
    case_again(MEASURE_NGINX, 4, 4, 100);
    assert_int_equal(case_judge(&of), BENCH_MET);
    HAS(case_judged, rounds, 3, left_out, 1);
    assert_true(!case_judged.with_steal && case_judged.least == 0.8);
    robbed(MEASURE_NGINX, 1);
    assert_int_equal(case_judge(&of), BENCH_MISSED);
    assert_true(case_judged.with_steal && case_judged.rounds == 4 && case_judged.left_out == 0);
    case_measured(MEASURE_E, USAGE_SERVER, 80, 90, 1000);
    case_again(MEASURE_E, 4, 4, 80);
    robbed(MEASURE_E, 2); /* a round that would have helped */
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    case_again(MEASURE_NGINX, 4, 4, 100);
    assert_int_equal(case_judge(&of), BENCH_MISSED);
    assert_true(case_judged.left_out == 1 && case_judged.most == 0.9);
    of.against.measure = MEASURE_NONE;
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.left_out == 1 && case_judged.rounds == 3 && case_judged.most == 90);
}

TEST(steal_is_graded_by_max_steal)
{
    assert_int_equal(bench_steal_grade(0.005, 5), BENCH_CALM);
    assert_int_equal(bench_steal_grade(0.0051, 5), BENCH_TAKEN);
    assert_int_equal(bench_steal_grade(0.05, 5), BENCH_TAKEN);
    assert_int_equal(bench_steal_grade(0.051, 5), BENCH_ROBBED);
    assert_int_equal(bench_steal_grade(0.05, 100), BENCH_CALM);
    assert_int_equal(bench_steal_grade(0, 0), BENCH_CALM);
    assert_int_equal(bench_steal_grade(0.001, 0), BENCH_ROBBED);
}

/* A p99 of E, at most 15; rounds 1 to `count`, each with its steal. */
static struct bench_row p99_row(const enum bench_steal *steal, const double *p99_ms, size_t count)
{
    struct bench_row of = case_row(15, true);
    of.of.figure = FIGURE_P99_MS;
    of.against.measure = MEASURE_NONE;
    case_measured(MEASURE_E, USAGE_SERVER, 100, 100, 100);
    case_again(MEASURE_E, 4, (int)count, 100);
    for (size_t i = 0; i < count; i++) {
        case_series[MEASURE_E].samples[i].steal = steal[i];
        case_series[MEASURE_E].samples[i].figures[FIGURE_P99_MS] = p99_ms[i];
    }
    case_series[MEASURE_E].count = count;
    return of;
}

/* Where too few rounds are calm enough for it, those count first that are good for a rate. */
TEST(a_p99_counts_calmer_rounds_than_a_rate)
{
    const enum bench_steal steal[] = {BENCH_TAKEN,  BENCH_CALM,  BENCH_CALM,
                                      BENCH_ROBBED, BENCH_TAKEN, BENCH_CALM};
    const double p99_ms[] = {20, 14, 14, 40, 1, 14};
    struct bench_row of = p99_row(steal, p99_ms, 6), rate = case_row(100, false);
    rate.against.measure = MEASURE_NONE;
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.rounds == 3 && case_judged.left_out == 3 && !case_judged.with_steal);
    assert_true(case_judged.least == 14 && case_judged.most == 14);
    assert_int_equal(case_judge(&rate), BENCH_MET);
    assert_true(case_judged.rounds == 5 && case_judged.left_out == 1 && !case_judged.with_steal);
    of = p99_row(steal, p99_ms, 5);
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.rounds == 4 && case_judged.left_out == 1 && case_judged.with_steal);
    assert_true(case_judged.least == 1 && case_judged.most == 20);
    of = p99_row(&steal[1], &p99_ms[1], 3);
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.rounds == 3 && case_judged.left_out == 0 && case_judged.with_steal);
    assert_true(case_judged.most == 40);
}

/* The host had the generator's core: that round has no figures, and the others count. */
TEST(a_late_round_is_lost_to_steal_alone)
{
    struct bench_row of = case_row(0.85, false);
    struct bench_series *side = &case_series[MEASURE_E];
    case_measured(MEASURE_E, USAGE_SERVER, 88, 88, 0);
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    struct bench_sample *late = &side->samples[2];
    late->late = true;
    late->limit = USAGE_UNKNOWN;
    snprintf(side->why, sizeof side->why, "late");
    bench_mark_stolen(side, late, 0.05, 5);
    assert_true(late->stolen == 0.05 && late->steal == BENCH_TAKEN);
    assert_int_equal(case_judge(&of), BENCH_FAILED);
    assert_string_equal(case_judged.why, "late");
    bench_mark_stolen(side, late, 0.06, 5);
    assert_int_equal(late->steal, BENCH_ROBBED);
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.rounds == 2 && case_judged.left_out == 1 && !case_judged.with_steal);
    assert_true(case_judged.of.least == 88 && case_judged.limit[0] == USAGE_SERVER);
    side->samples[1] = *late;
    assert_int_equal(case_judge(&of), BENCH_MET);
    assert_true(case_judged.rounds == 1 && case_judged.limit[0] == USAGE_SERVER);
}

static bool again(const struct bench_row *first, const struct bench_row *second, int64_t until_ms)
{
    const struct bench_row *const both[] = {first, second};
    for (size_t i = 0; i < BENCH_MEASURES; i++)
        case_series[i].took_ms = 3000;
    bool any = bench_choose_again(both, 2, case_series, 3, 1000, until_ms);
    assert_int_equal(any, case_series[MEASURE_E].again || case_series[MEASURE_BATCH].again);
    return case_series[MEASURE_E].again;
}

/* Whether its medians reach the bound or not. */
TEST(rows_within_noise_are_measured_again)
{
    struct bench_row noisy = case_row(0.9, false), clear = case_row(0.5, false);
    clear.of.measure = MEASURE_BATCH;
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    case_measured(MEASURE_BATCH, USAGE_SERVER, 90, 95, 96);
    case_measured(MEASURE_E, USAGE_SERVER, 80, 95, 96);
    assert_int_equal(case_judge(&noisy), BENCH_MET);
    assert_true(again(&clear, &noisy, INT64_MAX));
    assert_true(case_series[MEASURE_NGINX].again);
    assert_false(case_series[MEASURE_BATCH].again);
    case_measured(MEASURE_E, USAGE_SERVER, 80, 85, 96);
    assert_int_equal(case_judge(&noisy), BENCH_MISSED);
    assert_true(again(&noisy, &clear, INT64_MAX));
    case_measured(MEASURE_E, USAGE_SERVER, 80, 85, 86);
    assert_int_equal(case_judge(&noisy), BENCH_MISSED);
    assert_false(again(&noisy, &clear, INT64_MAX));
    noisy.bound = 0; /* a row that is told has nothing to reach */
    case_measured(MEASURE_E, USAGE_SERVER, 80, 95, 96);
    assert_false(again(&noisy, &clear, INT64_MAX));
}

TEST(robbed_rounds_are_measured_again)
{
    struct bench_row of = case_row(0.5, false), other = case_row(0.5, false);
    other.of.measure = MEASURE_BATCH;
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    case_measured(MEASURE_BATCH, USAGE_SERVER, 90, 95, 96);
    case_measured(MEASURE_E, USAGE_SERVER, 90, 95, 96);
    robbed(MEASURE_E, 0);
    assert_true(again(&of, &other, INT64_MAX));
    assert_false(case_series[MEASURE_BATCH].again);
    case_again(MEASURE_E, 4, 4, 96);
    case_again(MEASURE_NGINX, 4, 4, 100);
    assert_false(again(&of, &other, INT64_MAX));
    const struct bench_row *const alone = &of;
    assert_false(bench_choose_again(&alone, 1, case_series, 3, 1000, INT64_MAX));
    assert_true(bench_choose_again(&alone, 1, case_series, 4, 1000, INT64_MAX)); /* --rounds 4 */
    robbed(MEASURE_NGINX, 2); /* of both rows; the other one has no round of its own left for it */
    assert_true(again(&of, &other, INT64_MAX));
    assert_true(case_series[MEASURE_BATCH].again);
}

TEST(a_p99_is_measured_again_when_it_is_calm)
{
    const enum bench_steal steal[] = {BENCH_CALM, BENCH_TAKEN, BENCH_CALM, BENCH_CALM};
    const double p99_ms[] = {14, 14, 14, 14};
    struct bench_row of = p99_row(steal, p99_ms, 3), rate = case_row(90, false);
    rate.against.measure = MEASURE_NONE;
    assert_false(again(&rate, &rate, INT64_MAX));
    assert_true(again(&of, &rate, INT64_MAX));
    assert_true(case_series[MEASURE_E].again_calm);
    case_series[MEASURE_E].samples[0].figures[FIGURE_RATE] = 80;
    assert_true(again(&rate, &rate, INT64_MAX)); /* within noise */
    assert_false(case_series[MEASURE_E].again_calm);
    assert_true(again(&of, &rate, INT64_MAX));
    assert_true(case_series[MEASURE_E].again_calm);
    of = p99_row(steal, p99_ms, 4);
    assert_false(again(&of, &rate, INT64_MAX));
}

/* Whatever else stands against a measurement stands, however much the host took. */
TEST(steal_is_no_excuse_for_anything_else)
{
    struct bench_row of = case_row(0.85, false);
    case_measured(MEASURE_E, USAGE_SERVER, 88, 88, 0);
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    snprintf(case_series[MEASURE_E].why, sizeof case_series[MEASURE_E].why, "BROKEN");
    bench_mark_stolen(&case_series[MEASURE_E], &case_series[MEASURE_E].samples[2], 0.5, 5);
    assert_int_equal(case_judge(&of), BENCH_FAILED);
    assert_string_equal(case_judged.why, "BROKEN");
    assert_false(again(&of, &of, INT64_MAX));
}

TEST(a_row_of_late_rounds_alone_is_measured_again)
{
    struct bench_row of = case_row(0.85, false);
    case_measured(MEASURE_E, USAGE_SERVER, 0, 0, 0);
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    for (size_t i = 0; i < 3; i++)
        case_series[MEASURE_E].samples[i].late = true;
    assert_int_equal(case_judge(&of), BENCH_FAILED);
    t_says(case_judged.why, "late");
    assert_true(case_judged.rounds == 0 && case_judged.left_out == 3);
    assert_true(again(&of, &of, INT64_MAX));
    assert_true(case_series[MEASURE_E].again);
    case_measured(MEASURE_E, USAGE_SERVER, 0, 0, 0); /* nothing was done: that is another thing */
    assert_int_equal(case_judge(&of), BENCH_FAILED);
    assert_null(strstr(case_judged.why, "late"));
    assert_false(again(&of, &of, INT64_MAX));
}

/* A round of a side takes a second here. */
TEST(as_far_as_there_is_time)
{
    struct bench_row first = case_row(0.9, false), second = case_row(0.9, false);
    second.of.measure = MEASURE_BATCH;
    case_measured(MEASURE_NGINX, USAGE_SERVER, 100, 100, 100);
    case_measured(MEASURE_BATCH, USAGE_SERVER, 80, 95, 96);
    case_measured(MEASURE_E, USAGE_SERVER, 80, 95, 96);
    assert_false(again(&first, &second, 1000 + 1999));
    assert_false(case_series[MEASURE_BATCH].again);
    assert_true(again(&first, &second, 1000 + 2000));
    assert_false(case_series[MEASURE_BATCH].again);
    assert_true(again(&first, &second, 1000 + 3000)); /* nginx is measured once for both */
    assert_true(case_series[MEASURE_BATCH].again);
    first.against = first.of;
    first.against.figure = FIGURE_OVERLOADED; /* both sides of one measurement: it is made once */
    for (size_t i = 0; i < 3; i++)
        case_series[MEASURE_E].samples[i].figures[FIGURE_OVERLOADED] = 100;
    assert_true(again(&first, &first, 1000 + 1000));
    assert_false(case_series[MEASURE_NGINX].again);
}

/* All the rest -------------------------------------------------------------------------------- */

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
