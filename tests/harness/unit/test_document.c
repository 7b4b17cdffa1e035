/* The document: lines that are gathered of results written by hand, and what is refused. */
#include "lib/t.h"

#include "harness/fixtures/document_of.h"
#include "harness/fixtures/has.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error error;

static const char *folder;

TEST(lines_are_gathered)
{
    struct document document = hand_document(hand_rounds, HAND_ROUNDS);

    assert_int_equal(document.count, 3);
    const struct line *fastest = &document.lines[0];
    HAS(*fastest, strategy, "conditional", rounds, 2);
    assert_float_equal(fastest->figures[LINE_COMMITTED].median, 2000, 0.01);
    assert_float_equal(fastest->figures[LINE_COMMITTED].most, 3000, 0.01);
    assert_float_equal(fastest->figures[LINE_P99].median, 3, 0.001);
    assert_int_equal(fastest->class, LINE_SAFE);
    assert_int_equal(document.lines[2].class, LINE_CARE);
    const struct line *worst = &document.lines[1];
    HAS(*worst, strategy, "local-lock", class, LINE_BAD, sold, 150, oversold, 50, verdict,
        VERDICT_UNSAFE);
    document_free(&document);
}

/* A later file says how much was on sale in all; one of before, of one product. */
TEST(the_stock_is_what_was_on_sale)
{
    static const struct hand_run runs[] = {
        {"old", "{\"phase\": \"truth\", \"stock\": 100}"},
        {"new", "{\"phase\": \"truth\", \"stock\": 100, \"audit\": {\"initial_stock\": 400, "
                "\"restocked\": 20}}"}};
    struct document document = hand_document(runs, 2);
    HAS(document, lines[1].stock, 100, lines[0].stock, 420);
    document_free(&document);
}

/* A document reads as it was written, and a folder that is not there costs the file alone. */
TEST(what_is_written_is_read)
{
    struct document document;
    static const char text[] = "{\"runs\": [{\"strategy\": \"a\", \"committed_per_s\": "
                               "1234.56789012345}]}";
    assert_true(document_write(folder, json_loads(text, 0, NULL), &document, &error));
    assert_float_equal(document.lines[0].figures[LINE_COMMITTED].median, 1234.56789, 1e-9);
    document_free(&document);
    assert_true(document_read(folder, &document, &error));
    assert_float_equal(document.lines[0].figures[LINE_COMMITTED].median, 1234.56789, 1e-9);
    document_free(&document);
    assert_false(document_write("/nowhere", json_loads(text, 0, NULL), &document, &error));
    t_says(error.text, "/nowhere/results.json");
    assert_int_equal(document.count, 1);
    document_free(&document);
}

TEST(lines_are_chosen)
{
    struct document document = hand_document(hand_rounds, HAND_ROUNDS);
    struct option_list wanted = {.count = 2};

    strcpy(wanted.items[0], "redis-token");
    strcpy(wanted.items[1], "conditional");
    assert_true(document_choose(&document, &wanted, &error));
    assert_int_equal(document.count, 2);
    strcpy(wanted.items[0], "local-lock");
    assert_false(document_choose(&document, &wanted, &error));
    t_says(error.text, "'local-lock'");
    document_free(&document);
}

TEST(kinds_of_answers_are_apart)
{
    static const struct hand_run runs[] = {
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
    struct document document = hand_document(runs, sizeof runs / sizeof *runs);
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
    document_free(&document);
}

TEST(what_is_no_timeline_is_told)
{
    static const char *const texts[] = {
        "{\"slice_us\": 0, \"offered\": \"1\"}", "{\"slice_us\": 1, \"offered\": \"1,2\"}",
        "{\"slice_us\": 1, \"offered\": 3}", "{\"slice_us\": 1, \"failed\": {\"p99_us\": \"-1\"}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *run = json_pack("{s{so}}", "open_loop", "timeline", json_loads(texts[i], 0, NULL));
        if (answers_can_draw(run))
            fail_msg("%s", texts[i]);
        json_decref(run);
    }
}

#define SWEPT(value, rate)                                                                         \
    "{\"over\": \"x\", \"value\": " #value ", \"committed_per_s\": " #rate "}"

TEST(a_sweep_knows_its_best)
{
    static const struct hand_run runs[] = {
        {"a", SWEPT(8, 100)}, {"a", SWEPT(8, 120)}, {"a", SWEPT(8, 121)}, {"a", SWEPT(8, 122)},
        {"a", SWEPT(8, 123)}, {"a", SWEPT(0, 50)},  {"a", SWEPT(0, 60)},  {"a", SWEPT(0, 61)},
        {"a", SWEPT(0, 62)},  {"a", SWEPT(0, 63)},  {"a", SWEPT(4, 90)},  {"a", SWEPT(4, 99)}};
    struct document document = hand_document(runs, sizeof runs / sizeof *runs);
    static const enum line_mark marks[] = {LINE_LESS, LINE_LIKE_BEST, LINE_BEST};

    HAS(document, over, "x", count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(document.lines[i].value, (int64_t)i * 4);
        assert_int_equal(document_mark(&document, &document.lines[i]), marks[i]);
    }
    document_free(&document);
}

TEST(what_is_no_result_is_refused)
{
    struct document document;
    const char *path = t_text("%s/results.json", folder);

    assert_false(document_read(folder, &document, &error));
    t_says(error.text, "results.json: No such file");
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{", "line 1"},
        {"[]", "no runs"},
        {"{\"runs\": 3}", "no runs"},
        {"{\"runs\": []}", "no runs"},
        {"{\"runs\": [3]}", "runs[0] has no strategy"},
        {"{\"runs\": [{\"strategy\": \"\"}]}", "runs[0] has no strategy"},
        {"{\"runs\": [{\"strategy\": \"a\", \"latency_us\": {\"steps\": \"x\"}}]}",
         "runs[0]: its latencies (steps) cannot be read"},
        {"{\"runs\": [{\"strategy\": \"a\", \"open_loop\": {\"timeline\": 3}}]}",
         "runs[0]: its timeline cannot be read"},
        {"{\"runs\": [{\"strategy\": \"a\", \"latency_us\": {\"p99\": [1e308]}}]}",
         "runs[0] has a figure beyond 10^15"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_write(path, cases[i].text);
        assert_false(document_read(folder, &document, &error));
        if (!strstr(error.text, cases[i].says))
            fail_msg("%s: %s", cases[i].text, error.text);
    }
}

BEFORE_EACH()
{
    folder = t_folder();
}
