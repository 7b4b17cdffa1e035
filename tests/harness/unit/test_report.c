/* report.html, of results that were written by hand: what stands there without a script, and what
 * is embedded for it. Its pictures are looked at in a browser (tests/page/test_report.py). */
#include "lib/t.h"

#include "loadtest/report/page/page_runs.h"
#include "loadtest/report/page/words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROMISES "[\"one_instance\",\"many_instances\",\"paused_holder\",\"redis_failover\"]"

static char folder[] = "/tmp/seckill-report-XXXXXX";

/* The members that a line is made of. */
struct run {
    const char *strategy;
    int instances;
    const char *phase;
    double rate;
    int sold, oversold;
    const char *promise, *verdict, *error;
};

static void add_run(json_t *runs, const struct run *run)
{
    json_t *promise = json_loads(run->promise, 0, NULL);
    json_t *row =
        json_pack("{ss ss si ss sf si s{si si si si} s{si si si} so ss}", "strategy", run->strategy,
                  "body", "", "instances", run->instances, "phase", run->phase, "committed_per_s",
                  run->rate, "stock", 100, "latency_us", "p50", 1000, "p90", 2000, "p99", 3000,
                  "max", 9000, "audit", "sold", run->sold, "oversold", run->oversold,
                  "lost_updates", 0, "promise", promise, "verdict", run->verdict);
    if (run->error)
        json_object_set_new(row, "error", json_string(run->error));
    assert_int_equal(json_array_append_new(runs, row), 0);
}

static struct document take(const struct run *runs, size_t count)
{
    struct document document;
    struct error error;
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        add_run(list, &runs[i]);
    json_t *made =
        json_pack("{so si s{ss}}", "runs", list, "seed", 7, "machine", "cpu", "one & <two>");
    assert_true(document_take(made, &document, &error));
    return document;
}

static const struct run two_rounds[] = {
    {"local-lock", 3, "speed", 500, 500, 0, "[\"one_instance\"]", "proved nothing", NULL},
    {"local-lock", 3, "truth", 0, 110, 10, "[\"one_instance\"]", "unsafe, as stated", NULL},
    {"conditional", 1, "speed", 1000, 1000, 0, PROMISES, "kept", NULL},
    {"conditional", 1, "truth", 0, 100, 0, PROMISES, "kept", NULL},
    {"redis-token", 1, "speed", 300, 300, 0, "[\"one_instance\",\"many_instances\"]", "kept", NULL},
    {"local-lock", 3, "truth", 0, 150, 50, "[\"one_instance\"]", "unsafe, as stated", NULL},
    {"conditional", 1, "speed", 3000, 3000, 0, PROMISES, "kept", NULL},
};

static char *read_page(void)
{
    static char text[400000];
    char path[100];

    snprintf(path, sizeof path, "%s/report.html", folder);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    int closed = file ? fclose(file) : EOF;
    assert_int_equal(closed, 0);
    text[length] = '\0';
    return text;
}

static void write_page(const struct page_run *runs, size_t count)
{
    struct error error;

    if (!page_write_runs(folder, runs, count, &error))
        fail_msg("%s", error.text);
}

TEST(a_page_says_it_in_two_languages)
{
    struct page_run run = {"mine", NULL, take(two_rounds, sizeof two_rounds / sizeof *two_rounds)};

    write_page(&run, 1);
    const char *page = read_page();
    assert_non_null(strstr(page, "class=\"banner bad\""));
    assert_non_null(strstr(page, "<b>local-lock</b> with 3 instances sold 150 of 100. "
                                 "<b>conditional</b> kept its promise. <b>redis-token</b> kept a "
                                 "smaller promise (see “still right if”). <b>conditional</b> sold "
                                 "2,000 a second. </span>"));
    assert_non_null(strstr(page, "<b>local-lock</b>（3 个实例）卖出 150，库存只有 100。"));
    assert_non_null(strstr(page, "oversold</span>"));
    assert_non_null(strstr(page, " (it promises one instance)</span>"));
    assert_non_null(strstr(page, "<td>150 / 100</td>"));
    assert_non_null(strstr(page, "\"sold\":150,\"stock\":100,\"oversold\":50"));
    assert_non_null(strstr(page, "<td>2000 ±1000</td>"));
    assert_non_null(strstr(page, "\"cpu\":\"one & \\u003ctwo>\""));
    assert_non_null(strstr(page, "\"seed\":7"));
    assert_non_null(strstr(page, "</html>"));
    assert_non_null(strstr(page, "\"results.json\":\"{"));
    /* One file: nothing is fetched. */
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "href=\"http"));
    assert_null(strstr(page, "url("));
    document_free(&run.document);
}

TEST(a_page_shows_what_was_broken)
{
    const struct run runs[] = {
        {"conditional", 1, "truth", 0, 101, 1, PROMISES, "BROKEN", NULL},
        {"<script>alert(1)</script>", 1, "speed", 9, 9, 0, PROMISES, "no run", "a & b < c"},
    };
    struct page_run run = {"mine", NULL, take(runs, 2)};

    write_page(&run, 1);
    const char *page = read_page();
    assert_non_null(strstr(page, "class=\"banner bad\""));
    assert_non_null(strstr(page, "a &amp; b &lt; c"));
    assert_non_null(strstr(page, "&lt;script&gt;alert(1)"));
    assert_null(strstr(page, "<script>alert"));
    assert_non_null(strstr(page,
                           "<b>conditional</b> sold 101 of 100 and <b>broke its promise</b>. "
                           "<b>&lt;script&gt;alert(1)&lt;/script&gt;</b> could not be run. "));
    document_free(&run.document);
}

/* How often `part` stands there. */
static int sights(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Whatever it has, the embedded document is one, and ends where the page says. */
TEST(an_embedded_text_ends_no_script)
{
    static const struct run odd = {"</script><script>alert(1)</script><!--",
                                   1,
                                   "speed",
                                   9,
                                   9,
                                   0,
                                   PROMISES,
                                   "kept",
                                   "</SCRIPT ><!--<script>"};
    struct page_run runs[] = {{"</script>", NULL, take(two_rounds, 1)},
                              {"\xff", folder, take(&odd, 1)}};
    struct error error;

    write_page(runs, 1);
    int ends = sights(read_page(), "</script"), begins = sights(read_page(), "<script");
    assert_int_equal(begins, 2);
    write_page(runs, 2);
    const char *page = read_page();
    assert_int_equal(sights(page, "</script"), ends);
    assert_int_equal(sights(page, "</SCRIPT"), 0);
    assert_int_equal(sights(page, "<script"), begins);
    assert_int_equal(sights(page, "<!--"), 0);
    assert_non_null(strstr(page, "\\u003c/script>\\u003cscript>alert(1)"));
    const char *from = strstr(page, "id=\"document\">");
    const char *end = from ? strstr(from, "</script>") : NULL;
    assert_non_null(end);
    from = strchr(from, '>') + 1;
    json_t *read = json_loadb(from, (size_t)(end - from), 0, NULL);
    const json_t *line = json_array_get(json_object_get(json_array_get(read, 1), "lines"), 0);
    assert_string_equal(json_string_value(json_object_get(line, "strategy")), odd.strategy);
    json_decref(read);
    document_free(&runs[0].document);
    document_free(&runs[1].document);
    assert_false(page_write_runs("/nowhere", runs, 0, &error));
    assert_non_null(strstr(error.text, "/nowhere/report.html"));
}

TEST(texts_are_escaped)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    words_text(to, "<a href='x' b=\"y\">&\x01");
    words_text(to, NULL);
    int closed = fclose(to);
    assert_int_equal(closed, 0);
    assert_string_equal(text, "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;");
    free(text);
}

TEST(runs_are_compared_beyond_chance)
{
    const struct run before[] = {
        {"conditional", 1, "speed", 1000, 0, 0, PROMISES, "kept", NULL},
        {"conditional", 1, "speed", 1200, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 1000, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 1050, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 1100, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 1150, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 1200, 0, 0, PROMISES, "kept", NULL},
    };
    const struct run after[] = {
        {"conditional", 1, "speed", 1190, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 500, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 530, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 550, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 570, 0, 0, PROMISES, "kept", NULL},
        {"batch", 1, "speed", 600, 0, 0, PROMISES, "kept", NULL},
        {"buckets", 1, "speed", 300, 0, 0, PROMISES, "kept", NULL},
    };
    struct page_run runs[] = {{"before", NULL, take(before, 7)}, {"a <fter", NULL, take(after, 7)}};

    write_page(runs, 2);
    const char *page = read_page();
    assert_non_null(strstr(page, "1190 (×1.08)"));
    assert_non_null(strstr(page, "<td class=\"bad\">550 (×0.50 ↓)</td>"));
    assert_non_null(strstr(page, "Of the 2 compared here none can be called different with fewer "
                                 "than 5 rounds on each side."));
    /* One round says nothing of a spread; p99 is the same in all. */
    assert_non_null(strstr(page, "<td class=\"\">1190 (×1.08)</td>"));
    assert_non_null(strstr(page, "3.00 (×1.00 ≈)"));
    assert_non_null(strstr(page, "<td>300</td>")); /* which the first run does not have */
    assert_non_null(strstr(page, "<th>a &lt;fter</th>"));
    document_free(&runs[0].document);
    document_free(&runs[1].document);
}

static void is_p(const struct apart_rounds *one, const struct apart_rounds *other, double wanted)
{
    int more;
    double p = apart_p(one, other, &more);
    assert_true(p > wanted - 1e-6 && p < wanted + 1e-6);
    assert_int_equal(more, one->values[0] > other->values[0]);
}

/* Of tables: 2 / C(10, 5) where all are apart, 2 * 2 / C(10, 5) with one pair in the other order.
 */
TEST(the_test_is_exact)
{
    const struct apart_rounds low = {{1, 2, 3, 4, 5}, 5}, high = {{9, 8, 7, 6, 5.5}, 5},
                              near = {{9, 8, 7, 6, 4.5}, 5}, same = {{9, 8, 7, 6, 5}, 5},
                              three = {{7, 8, 9}, 3}, few = {{1, 2}, 2};
    is_p(&low, &high, 2.0 / 252);
    is_p(&high, &low, 2.0 / 252);
    is_p(&low, &near, 4.0 / 252);
    is_p(&low, &same, 4.0 / 252); /* an equal one is none that is apart */
    is_p(&few, &three, 2.0 / 10);
    double p[] = {0.04, 0.001, 0.03, 0.012}; /* up to 0.0125, 0.0167, 0.025 */
    assert_true(apart_limit(p, 4) > 0.0119 && apart_limit(p, 4) < 0.0121);
    assert_true(apart_limit(&p[3], 1) > 0);
    assert_true(apart_limit(p, 0) < 0);
    assert_int_equal(apart_rounds_needed(1), 4);
    assert_int_equal(apart_rounds_needed(104), 8);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int tear_down(void **state)
{
    char path[100];
    (void)state;
    snprintf(path, sizeof path, "%s/report.html", folder);
    unlink(path);
    return rmdir(folder);
}

TEST_GROUP(set_up, tear_down)
