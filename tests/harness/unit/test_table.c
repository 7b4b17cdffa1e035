/* The table for people: columns that stand under each other, and what is said below them. */
#include "lib/t.h"

#include "loadtest/report/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct api_strategy short_name = {.name = "none"}, long_name = {.name = "a-long-one"};

static struct phase_result result(const struct api_strategy *strategy, int instances, int round,
                                  int64_t requests, enum verdict verdict)
{
    return (struct phase_result){
        .plan = {.strategy = strategy, .kind = PHASE_LOAD, .round = round},
        .instances = instances,
        .load = {.requests = requests, .duration_us = 1000000, .p99_us = requests},
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

static char *printed(const struct phase_result *runs, size_t count, struct verdict_tally *tally)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    table_print(to, runs, count, tally);
    fclose(to);
    return text;
}

/* Two rounds of one line that differ (a ± in it), a longer name, another number of instances. */
static void columns_stand_under_each_other(void **state)
{
    (void)state;
    struct phase_result runs[] = {
        result(&short_name, 1, 1, 1000, VERDICT_KEPT),
        result(&long_name, 1, 1, 7, VERDICT_KEPT),
        result(&short_name, 1, 2, 123456, VERDICT_UNSAFE),
        result(&long_name, 3, 1, 8, VERDICT_KEPT),
    };
    struct verdict_tally tally = {{0}};
    char *text = printed(runs, 4, &tally);
    char *rest = NULL;
    char *lines[16] = {strtok_r(text, "\n", &rest)};
    for (int i = 1; i < 16; i++)
        lines[i] = strtok_r(NULL, "\n", &rest);
    int verdict = column_of(lines[0], "verdict");
    assert_int_equal(column_of(lines[1], "unsafe, as stated"), verdict);
    assert_int_equal(column_of(lines[2], "kept"), verdict);
    assert_int_equal(column_of(lines[3], "kept"), verdict);
    assert_int_equal(column_of(lines[1], "±61228"), column_of(lines[0], "requests/s") + 4);
    assert_non_null(strstr(lines[1], " 62228 ±61228 "));
    free(text);
}

static void verdicts_are_counted(void **state)
{
    (void)state;
    struct phase_result runs[] = {
        result(&short_name, 1, 1, 1, VERDICT_KEPT),
        result(&long_name, 1, 1, 1, VERDICT_KEPT),
        result(&short_name, 3, 1, 1, VERDICT_UNSAFE),
        result(&long_name, 3, 1, 1, VERDICT_BROKEN),
    };
    struct verdict_tally tally = {{0}};
    char *text = printed(runs, 4, &tally);
    assert_int_equal(tally.counts[VERDICT_KEPT], 2);
    assert_int_equal(tally.counts[VERDICT_BROKEN], 1);
    assert_non_null(strstr(text, "\nVerdicts: 2 kept; 1 unsafe, as stated; 1 BROKEN.\n"));
    assert_non_null(strstr(text, "\n\nnone          3 ")); /* a blank line before three instances */
    free(text);
}

/* Of two rounds one has wrk's own figures, of the other line every one. */
static void figures_of_the_generator_are_not_the_servers(void **state)
{
    static const struct usage wrks = {.seconds = 1, .generator_busy = 1, .server_busy = 0.4};
    static const struct usage both = {.seconds = 1, .generator_busy = 1, .server_busy = 1};

    (void)state;
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
    struct verdict_tally tally = {{0}};
    char *text = printed(runs, 4, &tally);
    assert_null(strstr(text, "777"));
    assert_non_null(strstr(text, "555"));
    assert_non_null(strstr(text, "999"));
    const char *said = strstr(text, "! no figures of 1 rounds: wrk was never idle");
    assert_non_null(said);
    assert_non_null(strstr(said + 1, "! no figures of 1 rounds"));
    assert_int_equal(tally.counts[VERDICT_KEPT], 3);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand_under_each_other),
        cmocka_unit_test(verdicts_are_counted),
        cmocka_unit_test(figures_of_the_generator_are_not_the_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
