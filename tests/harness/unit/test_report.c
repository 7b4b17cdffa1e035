/* report.html, of results that were written by hand: what stands there without a script, and what
 * is embedded for it. Its pictures are looked at in a browser (tests/page/test_report.py). */
#include "lib/t.h"

#include "harness/fixtures/document_of.h"
#include "loadtest/report/page/page.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;
static char *page; /* the last that was written */

static void write_page(const struct page_run *runs, size_t count)
{
    struct error error;

    t_done(page_write_runs(folder, runs, count, &error), error);
    free(page);
    page = t_read_all(t_text("%s/report.html", folder));
}

TEST(a_page_says_it_in_two_languages)
{
    struct page_run run = {"mine", NULL, hand_document(hand_rounds, HAND_ROUNDS)};

    write_page(&run, 1);
    t_says(page, "class=\"banner bad\"");
    t_says(page, "<b>local-lock</b> with 3 instances sold 150 of 100. "
                 "<b>conditional</b> kept its promise. <b>redis-token</b> kept a "
                 "smaller promise (see “still right if”). <b>conditional</b> sold "
                 "2,000 a second. </span>");
    t_says(page, "<b>local-lock</b>（3 个实例）卖出 150，库存只有 100。");
    t_says(page, "oversold</span>");
    t_says(page, " (it promises one instance)</span>");
    t_says(page, "<td>150 / 100</td>");
    t_says(page, "\"sold\":150,\"stock\":100,\"oversold\":50");
    t_says(page, "<td>2000 ±1000</td>");
    t_says(page, "\\\"cpu\\\": \\\"one & \\u003ctwo>\\\"");
    t_says(page, "\\\"seed\\\": 7");
    t_says(page, "</html>");
    t_says(page, "\"results.json\":\"{");
    /* One file: nothing is fetched. */
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "href=\"http"));
    assert_null(strstr(page, "url("));
    document_free(&run.document);
}

TEST(a_page_shows_what_was_broken)
{
    static const struct hand_run runs[] = {
        {"conditional", TRUTH(1, 101, 1, PROMISES, "BROKEN")},
        {"<script>alert(1)</script>", "{\"verdict\": \"no run\", \"error\": \"a & b < c\"}"},
    };
    struct page_run run = {"mine", NULL, hand_document(runs, 2)};

    write_page(&run, 1);
    t_says(page, "class=\"banner bad\"");
    t_says(page, "a &amp; b &lt; c");
    t_says(page, "&lt;script&gt;alert(1)");
    assert_null(strstr(page, "<script>alert"));
    t_says(page, "<b>conditional</b> sold 101 of 100 and <b>broke its promise</b>. "
                 "<b>&lt;script&gt;alert(1)&lt;/script&gt;</b> could not be run. ");
    document_free(&run.document);
}

/* Whatever it has, the embedded document is one, and ends where the page says. */
TEST(an_embedded_text_ends_no_script)
{
    static const struct hand_run odd = {
        "</script><script>alert(1)</script><!--",
        "{\"verdict\": \"kept\", \"error\": \"</SCRIPT ><!--<script>\"}"};
    struct page_run runs[] = {{"</script>", NULL, hand_document(hand_rounds, 1)},
                              {"\xff", folder, hand_document(&odd, 1)}};
    struct error error;

    write_page(runs, 1);
    size_t ends = t_count(page, "</script"), begins = t_count(page, "<script");
    assert_int_equal(begins, 2);
    write_page(runs, 2);
    assert_int_equal(t_count(page, "</script"), ends);
    assert_int_equal(t_count(page, "</SCRIPT"), 0);
    assert_int_equal(t_count(page, "<script"), begins);
    assert_int_equal(t_count(page, "<!--"), 0);
    t_says(page, "\\u003c/script>\\u003cscript>alert(1)");
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
    t_says(error.text, "/nowhere/report.html");
}

TEST(runs_are_compared_beyond_chance)
{
    static const struct hand_run before[] = {
        {"conditional", SPEED(1, 1000, PROMISES)}, {"conditional", SPEED(1, 1200, PROMISES)},
        {"batch", SPEED(1, 1000, PROMISES)},       {"batch", SPEED(1, 1050, PROMISES)},
        {"batch", SPEED(1, 1100, PROMISES)},       {"batch", SPEED(1, 1150, PROMISES)},
        {"batch", SPEED(1, 1200, PROMISES)},
    };
    static const struct hand_run after[] = {
        {"conditional", SPEED(1, 1190, PROMISES)}, {"batch", SPEED(1, 500, PROMISES)},
        {"batch", SPEED(1, 530, PROMISES)},        {"batch", SPEED(1, 550, PROMISES)},
        {"batch", SPEED(1, 570, PROMISES)},        {"batch", SPEED(1, 600, PROMISES)},
        {"buckets", SPEED(1, 300, PROMISES)},
    };
    struct page_run runs[] = {{"before", NULL, hand_document(before, 7)},
                              {"a <fter", NULL, hand_document(after, 7)}};

    write_page(runs, 2);
    t_says(page, "1190 (×1.08)");
    t_says(page, "<td class=\"bad\">550 (×0.50 ↓)</td>");
    t_says(page, "Of the 2 compared here none can be called different with fewer "
                 "than 5 rounds on each side.");
    /* One round says nothing of a spread; p99 is the same in all. */
    t_says(page, "<td class=\"\">1190 (×1.08)</td>");
    t_says(page, "3.00 (×1.00 ≈)");
    t_says(page, "<td>300</td>"); /* which the first run does not have */
    t_says(page, "<th>a &lt;fter</th>");
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

BEFORE_ALL()
{
    folder = t_folder();
}

AFTER_ALL()
{
    free(page);
}
