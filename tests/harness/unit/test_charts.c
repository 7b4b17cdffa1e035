/* The numbers of the report's charts: axes, whiskers, percentile points, bars, curves over time. */
#include "lib/t.h"

#include "loadtest/report/charts/axis.h"
#include "loadtest/report/charts/chart.h"
#include "loadtest/report/charts/panels.h"
#include "loadtest/report/charts/svg.h"
#include "loadtest/report/charts/swept.h"
#include "loadtest/report/charts/timeline.h"

#include <stdlib.h>
#include <string.h>

static void a_log_axis_has_equal_decades(void **state)
{
    (void)state;
    struct axis axis = {.log = true};
    double ticks[AXIS_TICKS];

    axis_take(&axis, 0); /* has no place there, and moves no end */
    axis_take(&axis, 300);
    axis_take(&axis, 20000);
    axis_settle(&axis, 100, 400);
    assert_float_equal(axis_place(&axis, 100), 100, 1e-9);
    assert_float_equal(axis_place(&axis, 1000), 200, 1e-9);
    assert_float_equal(axis_place(&axis, 100000), 400, 1e-9);
    assert_float_equal(axis_place(&axis, 0), 100, 1e-9);
    assert_float_equal(axis_place(&axis, 1e9), 400, 1e-9);
    assert_int_equal(axis_ticks(&axis, ticks), 4);
    assert_float_equal(ticks[3], 100000, 1e-6);
}

/* One value, a power of ten, nothing at all: there is a decade all the same. */
static void a_log_axis_is_never_empty(void **state)
{
    (void)state;
    static const double values[] = {0, 1, 10, 0.05};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct axis axis = {.log = true};
        double ticks[AXIS_TICKS];
        axis_take(&axis, values[i]);
        axis_settle(&axis, 400, 100); /* upright */
        assert_true(axis.to > axis.from * 9);
        assert_in_range(axis_ticks(&axis, ticks), 3, AXIS_TICKS);
        assert_true(axis_place(&axis, axis.to) < axis_place(&axis, axis.from));
    }
    assert_int_equal(axis_decimals(0.01), 2);
    assert_int_equal(axis_decimals(1000), 0);
    assert_int_equal(axis_decimals(2.5), 1);
}

static void a_linear_axis_has_round_ticks(void **state)
{
    (void)state;
    static const struct {
        double most, to;
    } cases[] = {{6, 6}, {5.2, 6}, {1730, 1800}, {43, 45}, {0.7, 0.7}, {0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct axis axis = {.log = false};
        double ticks[AXIS_TICKS];
        axis_take(&axis, cases[i].most);
        axis_settle(&axis, 0, 100);
        size_t count = axis_ticks(&axis, ticks);
        assert_float_equal(axis.to, cases[i].to, 1e-9);
        assert_in_range(count, 4, 12);
        assert_float_equal(ticks[0], 0, 1e-9);
        assert_float_equal(axis_place(&axis, ticks[count - 1]), 100, 1e-6);
    }
}

/* Of 1000 answers: 900 to 1 ms, 90 to 2 ms, 9 to 10 ms, one of 70 ms. */
static struct latency thousand(void)
{
    struct latency latency = {.count = 0};
    assert_true(latency_parse("1024:900 2048:90 10240:9 70000:1", &latency));
    return latency;
}

static void a_curve_has_the_percentiles(void **state)
{
    (void)state;
    struct latency latency = thousand();
    struct panels_point points[HISTOGRAM_STEPS + 1];
    static const struct panels_point expected[] = {
        {0, 1.024}, {1, 1.024}, {2, 2.048}, {3, 10.24}, {3, 70}};

    assert_int_equal(panels_curve(&latency, points, HISTOGRAM_STEPS + 1), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_float_equal(points[i].nines, expected[i].nines, 1e-9);
        assert_float_equal(points[i].ms, expected[i].ms, 1e-9);
    }
    assert_int_equal(panels_curve(&latency, points, 3), 3);
    latency = (struct latency){.count = 0};
    assert_int_equal(panels_curve(&latency, points, 3), 0);
    latency_add(&latency, 5000); /* one alone is the largest, at no nines */
    assert_int_equal(panels_curve(&latency, points, 3), 2);
    assert_float_equal(points[1].nines, 0, 1e-9);
    assert_float_equal(points[1].ms, 5, 1e-9);
}

/* Every answer is in a bar, and no step is in two. */
static void bars_hold_every_answer(void **state)
{
    (void)state;
    struct latency latency = thousand();
    int64_t bars[PANELS_BARS], sum = 0;

    latency_add(&latency, INT64_C(1) << 40);
    panels_bars(&latency, bars);
    for (size_t i = 0; i < PANELS_BARS; i++) {
        sum += bars[i];
        if (bars[i] == 900) {
            assert_true(panels_bar_begin_ms(i) < 1.024);
            assert_float_equal(panels_bar_begin_ms(i + 1), 1.024, 1e-9);
        }
    }
    assert_int_equal(sum, 1001);
    for (size_t i = 16; i + 1 < PANELS_BARS; i++) {
        double ratio = panels_bar_begin_ms(i + 1) / panels_bar_begin_ms(i);
        assert_true(ratio > 1.14 && ratio < 1.26);
    }
}

/* A phase for its figures, with one instance. */
struct run {
    const char *strategy;
    const char *more; /* members, in JSON */
};

static struct document take(const struct run *runs, size_t count)
{
    struct document document;
    struct error error;
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *run = json_loads(runs[i].more, 0, NULL);
        assert_non_null(run);
        json_object_update_new(run, json_pack("{ss ss si}", "strategy", runs[i].strategy, "phase",
                                              "speed", "instances", 1));
        json_array_append_new(list, run);
    }
    if (!document_take(json_pack("{so}", "runs", list), &document, &error))
        fail_msg("%s", error.text);
    return document;
}

static char *drawn(void (*draw)(FILE *, const struct document *), const struct document *document)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    draw(to, document);
    int closed = fclose(to);
    assert_int_equal(closed, 0);
    return text;
}

/* The plot is 430 wide from 178 on, here three decades from 100: the bar ends at the median, the
 * whisker at the least and the most. */
static void a_bar_ends_at_the_median(void **state)
{
    (void)state;
    static const struct run runs[] = {{"a", "{\"committed_per_s\": 1000}"},
                                      {"a", "{\"committed_per_s\": 20000}"},
                                      {"a", "{\"committed_per_s\": 10000}"},
                                      {"b", "{\"committed_per_s\": 200}"}};
    struct document document = take(runs, sizeof runs / sizeof *runs);
    char *text = drawn(chart_rates, &document);

    assert_int_equal(document.lines[0].rounds, 3);
    assert_non_null(strstr(text, "x=\"178\" y=\"26.0\" width=\"286.7\""));
    assert_non_null(strstr(text, "M321.3 32.0H507.8")); /* 1000 to 20000 */
    assert_non_null(strstr(text, "width=\"43.1\""));    /* 200 */
    assert_null(strstr(text, "M221.1 "));               /* one round has no whisker */
    free(text);
    document_free(&document);
}

/* A file that has p50 and p99 alone: from 1 to 100 ms over the plot of two decades. */
static void a_range_needs_no_maximum(void **state)
{
    (void)state;
    static const struct run runs[] = {{"a", "{\"latency_us\": {\"p50\": 1000, \"p99\": 100000}}"},
                                      {"b", "{\"latency_us\": {}}"}};
    struct document document = take(runs, sizeof runs / sizeof *runs);
    char *text = drawn(chart_latencies, &document);

    assert_non_null(strstr(text, "<circle cx=\"178.0\""));
    assert_non_null(strstr(text, "M178.0 32.0H608.0"));
    assert_non_null(strstr(text, ">1.0 · 100.0</text>"));
    assert_null(strstr(strstr(text, "<circle") + 1, "<circle"));
    free(text);
    document_free(&document);
}

static void kinds_of_answers_are_apart(void **state)
{
    (void)state;
    static const struct run runs[] = {
        {"wrk", "{\"committed\": 3, \"latency_us\": {\"steps\": \"1024:3\"}}"},
        {"accepts", "{\"committed\": 3, \"accepted\": 3, \"latency_us\": {\"steps\": \"64:2\"}}"},
        {"mixes", "{\"committed\": 3, \"failed\": 1, \"latency_us\": {\"steps\": \"9:4\"}}"},
        {"refuses", "{\"refused\": 3, \"latency_us\": {\"steps\": \"1024:3\"}}"},
        {"open",
         "{\"open_loop\": {\"parts\": [{\"latency_us\": {\"committed\": {\"steps\": \"1024:5\"}, "
         "\"failed\": {\"steps\": \"2048:7\"}}}, {\"latency_us\": {\"committed\": "
         "{\"steps\": \"512:1\"}}}]}}"},
        {"old", "{}"},
    };
    struct document document = take(runs, sizeof runs / sizeof *runs);
    static const struct {
        const char *strategy;
        int kind;
        int64_t count;
    } expected[] = {{"wrk", LOAD_COMMITTED, 3},  {"accepts", LOAD_ACCEPTED, 2},
                    {"mixes", ANSWERS_MIXED, 4}, {"refuses", LOAD_REFUSED, 3},
                    {"open", LOAD_COMMITTED, 6}, {"open", LOAD_FAILED, 7}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct line wanted = {.strategy = expected[i].strategy, .body = "", .instances = 1};
        const struct line *line = document_same(&document, &wanted);
        assert_non_null(line);
        assert_int_equal(line->answers->kinds[expected[i].kind].count, expected[i].count);
    }
    char *text = drawn(panels_histograms, &document);
    assert_non_null(strstr(text, "<tspan class=\"en\">failed</tspan>"));
    assert_null(strstr(text, ">old<"));
    free(text);
    text = drawn(panels_percentiles, &document);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
    document_free(&document);
}

static void time_goes_from_left_to_right(void **state)
{
    (void)state;
    struct timeline timeline;
    json_t *run = json_loads(
        "{\"open_loop\": {\"parts\": [{\"part\": \"idle\", \"duration_s\": 1}, {\"part\": "
        "\"<odd>\", \"duration_s\": 1}], \"timeline\": {\"slice_us\": 1000000, \"offered\": "
        "\"10 20\", \"refused\": {\"answered\": \"0 30\", \"p50_us\": \"1000 0\"}}}}",
        0, NULL);
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);

    assert_true(answers_timeline(run, &timeline));
    assert_int_equal(timeline.count, 2);
    assert_int_equal(timeline.slices[1].offered, 20);
    assert_int_equal(timeline.slices[1].answered[LOAD_REFUSED], 30);
    assert_int_equal(timeline.slices[0].p50_us[LOAD_REFUSED], 1000);
    assert_true(timeline_draw(to, run));
    int closed = fclose(to);
    assert_int_equal(closed, 0);
    /* 30 a second is the top, 22; nothing the bottom, 150; two seconds are 624 wide. */
    assert_non_null(strstr(text, "L46.0 150.0H358.0L358.0 22.0H670.0"));
    assert_non_null(strstr(text, "&lt;odd&gt;"));
    assert_null(strstr(text, "committed"));
    free(text);
    json_decref(run);
}

static void what_is_no_timeline_is_told(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"slice_us\": 0, \"offered\": \"1\"}", "{\"slice_us\": 1, \"offered\": \"1,2\"}",
        "{\"slice_us\": 1, \"offered\": 3}", "{\"slice_us\": 1, \"failed\": {\"p99_us\": \"-1\"}}"};
    struct timeline timeline;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *run = json_pack("{s{so}}", "open_loop", "timeline", json_loads(texts[i], 0, NULL));
        if (answers_timeline(run, &timeline))
            fail_msg("%s", texts[i]);
        json_decref(run);
    }
}

static void a_sweep_knows_its_best(void **state)
{
    (void)state;
    static const struct run runs[] = {
        {"a", "{\"over\": \"x\", \"value\": 8, \"committed_per_s\": 100}"},
        {"a", "{\"over\": \"x\", \"value\": 8, \"committed_per_s\": 120}"},
        {"a", "{\"over\": \"x\", \"value\": 8, \"committed_per_s\": 121}"},
        {"a", "{\"over\": \"x\", \"value\": 8, \"committed_per_s\": 122}"},
        {"a", "{\"over\": \"x\", \"value\": 8, \"committed_per_s\": 123}"},
        {"a", "{\"over\": \"x\", \"value\": 0, \"committed_per_s\": 50}"},
        {"a", "{\"over\": \"x\", \"value\": 0, \"committed_per_s\": 60}"},
        {"a", "{\"over\": \"x\", \"value\": 0, \"committed_per_s\": 61}"},
        {"a", "{\"over\": \"x\", \"value\": 0, \"committed_per_s\": 62}"},
        {"a", "{\"over\": \"x\", \"value\": 0, \"committed_per_s\": 63}"},
        {"a", "{\"over\": \"x\", \"value\": 4, \"committed_per_s\": 90}"},
        {"a", "{\"over\": \"x\", \"value\": 4, \"committed_per_s\": 99}"},
    };
    struct document document = take(runs, sizeof runs / sizeof *runs);
    static const enum swept_mark marks[] = {SWEPT_LESS, SWEPT_LIKE_BEST, SWEPT_BEST};

    assert_string_equal(document.over, "x");
    assert_int_equal(document.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(document.lines[i].value, (int64_t)i * 4);
        assert_int_equal(swept_mark_of(&document, &document.lines[i]), marks[i]);
    }
    char *text = drawn(swept_panels, &document);
    assert_non_null(strstr(text, ">x</text>"));
    free(text);
    document_free(&document);
}

static void texts_are_escaped(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    svg_text(to, "<a href='x' b=\"y\">&\x01");
    svg_text(to, NULL);
    fputc('\n', to);
    svg_name(to, "12345678901234567890");
    svg_name(to, "\n<2345678901234567秒杀");
    int closed = fclose(to);
    assert_int_equal(closed, 0);
    assert_string_equal(text,
                        "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;\n12345678901234567890"
                        "\n&lt;2345678901234567…");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_axis_has_equal_decades),
        cmocka_unit_test(a_log_axis_is_never_empty),
        cmocka_unit_test(a_linear_axis_has_round_ticks),
        cmocka_unit_test(a_curve_has_the_percentiles),
        cmocka_unit_test(bars_hold_every_answer),
        cmocka_unit_test(a_bar_ends_at_the_median),
        cmocka_unit_test(a_range_needs_no_maximum),
        cmocka_unit_test(kinds_of_answers_are_apart),
        cmocka_unit_test(time_goes_from_left_to_right),
        cmocka_unit_test(what_is_no_timeline_is_told),
        cmocka_unit_test(a_sweep_knows_its_best),
        cmocka_unit_test(texts_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
