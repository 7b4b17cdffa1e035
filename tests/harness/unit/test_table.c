/* The table for people: its order, columns that stand under each other, and what is said below. */
#include "lib/t.h"

#include "harness/fixtures/document_of.h"
#include "loadtest/commands/harness.h"

#include <string.h>

static const struct api_strategy short_name = {.name = "none"}, long_name = {.name = "a-long-one"};
static const struct api_strategy conditional = {.name = "conditional",
                                                .promise = {true, true, true, true}},
                                 longest = {.name = "partitioned-queue",
                                            .promise = {true, true, false, false}},
                                 alone = {.name = "local-lock",
                                          .promise = {true, false, false, false}};

static struct phase_result result(const struct api_strategy *strategy, int instances, int round,
                                  int64_t requests, enum verdict verdict)
{
    return (struct phase_result){
        .plan = {.strategy = strategy, .kind = PHASE_LOAD, .body = "", .round = round},
        .instances = instances,
        .load = {.requests = requests, .duration_us = 1000000, .p99_us = requests},
        .counts = {.committed = requests},
        .audit = {.initial_stock = 100, .sold = requests},
        .verdict = verdict,
    };
}

/* Columns, not bytes, before the first sight of `text` in a line. */
static int column_of(const char *line, const char *text)
{
    const char *found = strstr(line, text);
    int column = 0;
    assert_non_null(found);
    for (const char *at = line; at < found; at++)
        column += ((unsigned char)*at & 0xC0) != 0x80;
    return column;
}

/* The last that was printed; its lines without the empty ones, once it is split, the rest NULL. */
static char *printed, *lines[16];
static struct verdict_tally tally;

static void print(const struct phase_result *runs, size_t count, enum options_format format)
{
    FILE *to = t_print();
    struct table_style style = {.format = format};
    struct document document = document_of(runs, count);
    tally = (struct verdict_tally){{0}};
    table_print(to, &document, &style, &tally);
    table_print_legend(to, &style, &tally);
    document_free(&document);
    printed = t_printed();
}

static void split(void)
{
    char *rest = NULL;
    lines[0] = strtok_r(printed, "\n", &rest);
    for (int i = 1; i < 16; i++)
        lines[i] = strtok_r(NULL, "\n", &rest);
}

/* Two rounds of one line that differ (a ± in it), a longer name, another number of instances. */
TEST(columns_stand_under_each_other)
{
    struct phase_result runs[] = {
        result(&short_name, 1, 1, 1000, VERDICT_KEPT),
        result(&long_name, 1, 1, 7, VERDICT_KEPT),
        result(&short_name, 1, 2, 123456, VERDICT_UNSAFE),
        result(&long_name, 3, 1, 8, VERDICT_KEPT),
    };
    print(runs, 4, FORMAT_WIDE);
    split();
    int verdict = column_of(lines[0], "verdict");
    assert_int_equal(column_of(lines[1], "wrong"), verdict);
    assert_int_equal(column_of(lines[2], "kept"), verdict);
    assert_int_equal(column_of(lines[3], "kept"), verdict);
    assert_int_equal(column_of(lines[1], "±61228"), column_of(lines[0], "requests/s") + 4);
    t_says(lines[1], " 62228 ±61228 ");
}

/* Where there is a limit, what it refused has a column, and is told apart where it is in the speed.
 */
TEST(limits_have_a_column)
{
    struct phase_result runs[] = {result(&short_name, 1, 1, 10, VERDICT_KEPT),
                                  result(&long_name, 1, 1, 10, VERDICT_BROKEN)};
    print(runs, 2, FORMAT_WIDE);
    assert_null(strstr(printed, "limited/s"));
    runs[1].plan.limit = 2;
    runs[1].plan.kind = PHASE_SPEED;
    runs[1].counts.limited = 321;
    runs[1].audit.limit_violations = 4;
    print(runs, 2, FORMAT_TABLE);
    assert_null(strstr(printed, "limited/s"));
    t_says(printed, "! 4 users have more than the limit\n");
    t_says(printed, "! 321 orders were refused by the limit while the speed");
    print(runs, 2, FORMAT_WIDE);
    split();
    assert_int_equal(column_of(lines[2], " 321 ") + 5, column_of(lines[0], "limited/s") + 10);
}

TEST(verdicts_are_counted)
{
    struct phase_result runs[] = {
        result(&short_name, 1, 1, 1, VERDICT_KEPT),
        result(&long_name, 1, 1, 1, VERDICT_KEPT),
        result(&short_name, 3, 1, 1, VERDICT_UNSAFE),
        result(&long_name, 3, 1, 1, VERDICT_BROKEN),
    };
    print(runs, 4, FORMAT_WIDE);
    assert_int_equal(tally.counts[VERDICT_KEPT], 2);
    assert_int_equal(tally.counts[VERDICT_BROKEN], 1);
    t_says(printed, "\nVerdicts: 2 kept; 1 oversold or wrong, promising nothing; 1 BROKEN.\n");
    t_says(printed, "\n\nnone          3 "); /* a blank line before three instances */
}

/* Of two rounds one has wrk's own figures, of the other line every one. */
TEST(figures_of_the_generator_are_not_the_servers)
{
    static const struct usage wrks = {.seconds = 1, .generator_busy = 1, .server_busy = 0.4};
    static const struct usage both = {.seconds = 1, .generator_busy = 1, .server_busy = 1};

    struct phase_result runs[] = {
        result(&short_name, 1, 1, 777, VERDICT_KEPT),
        result(&short_name, 1, 2, 555, VERDICT_KEPT),
        result(&long_name, 1, 1, 888, VERDICT_KEPT),
        result(&long_name, 3, 1, 999, VERDICT_KEPT),
    };
    for (int i = 0; i < 4; i++)
        runs[i].audit.sold = 1;
    runs[0].load.usage = runs[2].load.usage = wrks;
    runs[3].load.usage = both;
    print(runs, 4, FORMAT_WIDE);
    assert_null(strstr(printed, "777"));
    t_says(printed, "555");
    t_says(printed, "999");
    const char *said = strstr(printed, "! no figures of 1 rounds: wrk was never idle");
    assert_non_null(said);
    t_says(said + 1, "! no figures of 1 rounds");
    assert_int_equal(tally.counts[VERDICT_KEPT], 3);
}

/* By number of instances, then by rate; what has no rate is last. */
TEST(the_fastest_stands_first)
{
    struct phase_result runs[] = {
        result(&short_name, 3, 1, 9000, VERDICT_UNSAFE),
        result(&long_name, 1, 1, 1, VERDICT_NO_RUN),
        result(&alone, 1, 1, 500, VERDICT_KEPT),
        result(&conditional, 1, 1, 1000, VERDICT_KEPT),
        result(&longest, 1, 1, 10870, VERDICT_KEPT),
        result(&conditional, 3, 1, 80, VERDICT_KEPT),
    };
    snprintf(runs[1].error, sizeof runs[1].error, "it rained");
    runs[0].plan.body = "guarded";
    runs[5].audit.lost_updates = 7;
    print(runs, 6, FORMAT_TABLE);
    split();
    const char *const expected[] = {
        "strategy          inst committed/s p50 ms p99 ms sold/stock  verdict",
        "partitioned-queue    1 10870 ×10.9   0.00  10.87  10870/100  kept, not when paused",
        "conditional          1  1000 ×1.00   0.00   1.00   1000/100  kept",
        "local-lock           1   500 ×0.50   0.00   0.50    500/100  kept, one instance",
        "a-long-one           1           -      -      -      1/100  no run",
        "  ! no run: it rained",
        "none                 3  9000 × 112   0.00   9.00   9000/100  wrong",
        "conditional          3    80 ×1.00   0.00   0.08     80/100  kept",
        "  ! 7 updates of the stock were lost",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_string_equal(lines[i], expected[i]);
}

/* What the registry can promise, in words. */
TEST(a_promise_says_when_it_holds)
{
    static const struct {
        struct promise promise;
        const char *words, *kept;
    } cases[] = {
        {{false, false, false, false}, "never", "kept, one instance"},
        {{true, false, false, false}, "one instance", "kept, one instance"},
        {{true, false, true, true}, "one instance", "kept, one instance"},
        {{true, true, false, false}, "no stall/failover", "kept, not when paused"},
        {{true, true, true, false}, "no failover", "kept, no failover"},
        {{true, true, false, true}, "no stall", "kept, not when paused"},
        {{true, true, true, true}, "anything happens", "kept"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(promise_right_if(&cases[i].promise), cases[i].words);
        assert_string_equal(verdict_in_words(VERDICT_KEPT, &cases[i].promise), cases[i].kept);
    }
}

/* The longest name that the usual strategies have, the longest verdict, and figures as large as two
 * cores have shown and somewhat more. */
TEST(a_line_has_80_columns_at_most)
{
    static const struct api_strategy token = {.name = "redis-fenced",
                                              .promise = {true, true, false, false}};
    struct phase_result runs[] = {
        result(&token, 3, 1, 98765, VERDICT_KEPT),
        result(&token, 3, 2, 12345, VERDICT_KEPT),
        result(&conditional, 3, 1, 4260, VERDICT_KEPT),
    };
    for (int i = 0; i < 3; i++)
        runs[i].load.p50_us = runs[i].load.p99_us = 1234567;
    print(runs, 3, FORMAT_TABLE);
    split();
    for (int i = 0; lines[i]; i++) {
        int columns = column_of(lines[i], lines[i] + strlen(lines[i]));
        if (columns > 80)
            fail_msg("%d columns: %s", columns, lines[i]);
    }
}

TEST(a_schedules_lines_have_100_columns_at_most)
{
    struct phase_result run = result(&longest, 16, 1, 1, VERDICT_KEPT);
    struct load_part part = {.planned = {"crowded", 1000000, 1000000}};
    run.plan.rate_per_s = 1000000;
    run.load.parts_count = 1;
    part.late_starts = part.never_started = 999999;
    for (int class = 0; class < LOAD_CLASSES; class ++)
        part.classes[class] = (struct latency_figures){
            .count = 999999, .p50_us = 60000000, .p99_us = 60000000, .p999_us = 60000000};
    run.load.parts[0] = part;
    for (int wide = 0; wide < 2; wide++) {
        struct document document = document_of(&run, 1);
        open_results_print(t_print(), &document, wide);
        document_free(&document);
        printed = t_printed();
        assert_int_equal(strstr(printed, "p90 ms") != NULL, wide);
        t_says(printed, "p99.9 ms");
        split();
        for (int i = 0; !wide && i <= LOAD_CLASSES; i++)
            assert_true(column_of(lines[i], lines[i] + strlen(lines[i])) <= 100);
    }
}

TEST(markdown_is_a_table)
{
    struct phase_result runs[] = {result(&conditional, 1, 1, 1000, VERDICT_KEPT),
                                  result(&longest, 1, 1, 1, VERDICT_NO_RUN)};
    snprintf(runs[1].error, sizeof runs[1].error, "it rained");
    print(runs, 2, FORMAT_MD);
    static const char expected[] =
        "| strategy | inst | committed/s | p50 ms | p99 ms | sold/stock | verdict |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |\n"
        "| conditional | 1 | 1000 ×1.00 | 0.00 | 1.00 | 1000/100 | kept |\n"
        "| partitioned-queue | 1 | - | - | - | 1/100 | no run |\n\n"
        "- partitioned-queue, 1 instance: no run: it rained\n";
    assert_memory_equal(printed, expected, sizeof expected - 1);
}

/* An escape takes no column. */
TEST(colours_change_nothing_else)
{
    struct phase_result run = result(&alone, 1, 1, 1000, VERDICT_BROKEN);
    struct table_style plain = {.format = FORMAT_TABLE}, coloured = {FORMAT_TABLE, true};
    char *texts[2];
    run.audit.oversold = 900;
    for (int i = 0; i < 2; i++) {
        struct document document = document_of(&run, 1);
        table_print(t_print(), &document, i ? &coloured : &plain, &tally);
        document_free(&document);
        texts[i] = t_printed();
    }
    assert_null(strchr(texts[0], '\033'));
    t_says(texts[1], "\033[31mBROKEN\033[0m");
    t_says(texts[1], "\033[31m1000/100\033[0m");
    char *to = texts[1];
    for (const char *at = texts[1]; *at; at++) {
        if (*at == '\033')
            at += strcspn(at, "m");
        else
            *to++ = *at;
    }
    *to = '\0';
    assert_string_equal(texts[1], texts[0]);
}

TEST(what_is_left_is_told_by_what_is_over)
{
    struct progress progress = {0};
    char text[100];
    progress_text(&progress, 5, "preparing", text, sizeof text);
    assert_string_equal(text, "preparing");
    progress_next(&progress, 1, 100, 1000);
    progress_text(&progress, 5000, "x", text, sizeof text);
    assert_string_equal(text, "1 of 100: x");
    progress_next(&progress, 3, 100, 16000); /* 7.5 s each, 98 to come */
    progress_text(&progress, 16000, "x", text, sizeof text);
    assert_string_equal(text, "3 of 100, 13 min left: x");
    progress_text(&progress, 35000, "x", text, sizeof text);
    assert_string_equal(text, "3 of 100, 12 min left: x");
    progress.oversold = 274;
    progress_text(&progress, 35000, "x", text, sizeof text);
    assert_string_equal(text, "3 of 100, 12 min left, 274 oversold: x");
    progress.oversold = 0;
    progress_next(&progress, 100, 100, 1000 + 99 * 7500);
    progress_text(&progress, 1000 + 99 * 7500 + 2500, "x", text, sizeof text);
    assert_string_equal(text, "100 of 100, 5 s left: x");
    progress_text(&progress, 9000000, "x", text, sizeof text);
    assert_string_equal(text, "100 of 100, 0 s left: x");
}
