/* See results.h. */
#include "loadtest/report/results.h"

#include "loadtest/base/pool.h"
#include "loadtest/base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 64 };
enum paint { PLAIN, GREEN, YELLOW, RED }; /* the coloured ones as enum line_class */

struct cell {
    char text[CELL_BYTES];
    enum paint paint;
};

struct row {
    const struct line *line; /* borrowed */
    double measure;          /* committed/s of `conditional` with as many instances; 0: not known */
};

static void write_strategy(const struct row *row, struct cell *cell, int which)
{
    (void)which;
    snprintf(cell->text, CELL_BYTES, "%s", row->line->strategy);
}

/* "12345" or, over several rounds, "12345 ±67". */
static void write_rate(const struct row *row, struct cell *cell, int which)
{
    const struct span *span = &row->line->figures[which];
    double half = (span->most - span->least) / 2;
    if (row->line->rounds == 0)
        return;
    if (half >= 0.5)
        snprintf(cell->text, CELL_BYTES, "%.0f ±%.0f", span->median, half);
    else
        snprintf(cell->text, CELL_BYTES, "%.0f", span->median);
}

/* "4260 ×1.00", of four places so that the rates end together. */
static void write_compared(const struct row *row, struct cell *cell, int which)
{
    double rate = row->line->figures[which].median;
    double times = row->measure > 0 ? rate / row->measure : 0;
    if (row->line->rounds == 0)
        return;
    if (row->measure > 0)
        snprintf(cell->text, CELL_BYTES, times < 99.95 ? "%.0f ×%.*f" : "%.0f ×%4.*f", rate,
                 times < 9.995   ? 2
                 : times < 99.95 ? 1
                                 : 0,
                 times);
    else
        snprintf(cell->text, CELL_BYTES, "%.0f", rate);
}

static void write_latency(const struct row *row, struct cell *cell, int which)
{
    double ms = row->line->figures[which].median;
    if (row->line->rounds > 0)
        snprintf(cell->text, CELL_BYTES, "%.*f", ms < 100 ? 2 : 1, ms);
}

/* From STOCK on units of the worst phase. */
enum { INSTANCES, LOST, STOCK, SOLD, LEFT, OVERSOLD };

static void write_count(const struct row *row, struct cell *cell, int which)
{
    const struct line *line = row->line;
    const int64_t counts[] = {line->instances, line->lost_updates, line->stock,
                              line->sold,      line->left,         line->oversold};
    if (which >= STOCK && !line->worst)
        return;
    snprintf(cell->text, CELL_BYTES, "%" PRId64, counts[which]);
    if ((which == LOST || which == OVERSOLD) && counts[which] > 0)
        cell->paint = RED;
}

static void write_sold_of_stock(const struct row *row, struct cell *cell, int which)
{
    const struct line *line = row->line;
    (void)which;
    if (!line->worst)
        return;
    snprintf(cell->text, CELL_BYTES, "%" PRId64 "/%" PRId64, line->sold, line->stock);
    cell->paint = line->oversold > 0 ? RED : PLAIN;
}

static void write_verdict(const struct row *row, struct cell *cell, int which)
{
    const struct line *line = row->line;
    (void)which;
    snprintf(cell->text, CELL_BYTES, "%s", line_verdict_text(line, line->verdict));
    cell->paint = (enum paint)(GREEN + (int)line_verdict_class(line, line->verdict));
}

static void write_right_if(const struct row *row, struct cell *cell, int which)
{
    const struct promise *promise = &row->line->promise;
    (void)which;
    snprintf(cell->text, CELL_BYTES, "%s", promise_right_if(promise));
    if (promise->many_instances && promise->paused_holder && promise->redis_failover)
        cell->paint = GREEN;
    else
        cell->paint = promise->one_instance ? YELLOW : RED;
}

/* IF_LIMITED: only where there was a limit a user. */
enum { SHORT = 1, WIDE = 2, IF_LIMITED = 4 };

/* Words begin together, figures end together. What a column has nothing for is "-". */
static const struct column {
    const char *title;
    unsigned views;
    bool words;
    void (*write)(const struct row *row, struct cell *cell, int which);
    int which;
} columns[] = {
    {"strategy", SHORT | WIDE, true, write_strategy, 0},
    {"inst", SHORT | WIDE, false, write_count, INSTANCES},
    {"requests/s", WIDE, false, write_rate, LINE_REQUESTS},
    {"committed/s", WIDE, false, write_rate, LINE_COMMITTED},
    {"committed/s", SHORT, false, write_compared, LINE_COMMITTED},
    {"refused/s", WIDE, false, write_rate, LINE_REFUSED},
    {"limited/s", WIDE | IF_LIMITED, false, write_rate, LINE_LIMITED},
    {"failed/s", WIDE, false, write_rate, LINE_FAILED},
    {"p50 ms", SHORT | WIDE, false, write_latency, LINE_P50},
    {"p99 ms", SHORT | WIDE, false, write_latency, LINE_P99},
    {"stock", WIDE, false, write_count, STOCK},
    {"sold", WIDE, false, write_count, SOLD},
    {"left", WIDE, false, write_count, LEFT},
    {"oversold", WIDE, false, write_count, OVERSOLD},
    {"lost upd", WIDE, false, write_count, LOST},
    {"sold/stock", SHORT, false, write_sold_of_stock, 0},
    {"verdict", SHORT | WIDE, true, write_verdict, 0},
    {"still right if", WIDE, true, write_right_if, 0},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct table {
    struct table_style style;
    FILE *to;
    struct row *rows; /* owned */
    size_t count;
    /* The columns that are shown, each as wide as its widest cell, so that the table fits a screen;
     * of their cells the titles come first. */
    const struct column *shown[COLUMNS];
    int shown_count, widths[COLUMNS];
    struct cell (*cells)[COLUMNS]; /* owned */
};

static void add_column(struct table *table, const struct column *column)
{
    int number = table->shown_count++;
    table->shown[number] = column;
    for (size_t i = 0; i <= table->count; i++) {
        struct cell *cell = &table->cells[i][number];
        snprintf(cell->text, CELL_BYTES, "%s", i == 0 ? column->title : "-");
        if (i > 0)
            column->write(&table->rows[i - 1], cell, column->which);
        int width = utf8_width(cell->text, strlen(cell->text));
        table->widths[number] = width > table->widths[number] ? width : table->widths[number];
    }
}

static void print_text(const struct table *table, const struct cell *cell)
{
    static const char *const escapes[] = {[GREEN] = "32", [YELLOW] = "33", [RED] = "31"};
    if (cell->paint == PLAIN || !table->style.colours)
        fputs(cell->text, table->to);
    else
        fprintf(table->to, "\033[%sm%s\033[0m", escapes[cell->paint], cell->text);
}

/* Nothing stands behind the last column's text. */
static void print_row(const struct table *table, const struct cell *cells)
{
    int behind = 0; /* spaces that the column before is short of */
    for (int i = 0; i < table->shown_count; i++) {
        bool words = table->shown[i]->words;
        int padding = table->widths[i] - utf8_width(cells[i].text, strlen(cells[i].text));
        fprintf(table->to, "%*s", behind + (words ? 0 : padding) + (i == 0 ? 0 : 1 + words), "");
        print_text(table, &cells[i]);
        behind = words ? padding : 0;
    }
    fputc('\n', table->to);
}

static void print_markdown_row(const struct table *table, const struct cell *cells)
{
    for (int i = 0; i < table->shown_count; i++)
        fprintf(table->to, "| %s ", cells[i].text);
    fputs("|\n", table->to);
}

void table_print_alarms(FILE *to, const char *before, const struct line *line)
{
    const struct {
        int64_t count;
        const char *front, *back;
    } alarms[] = {
        {line->internal_errors, "the server answered internal_error ", " times: see its log"},
        {line->missing, "", " orders were answered 201 or 202 and have no row, or one that failed"},
        {line->undersold, "sold out was answered with ", " units left"},
        {line->resold, "sold out was answered, and ", " orders that came later were sold"},
        {line->limits, "", " users have more than the limit"},
        {line->unrepeatable, "",
         " orders have no key in their row, or their key repeated was not answered with them"},
        {line->others, "", " duplicate orders or negative stocks"},
        {line->limited, "",
         " orders were refused by the limit while the speed was measured (more --users?)"},
        {(int64_t)line->generators, "no figures of ",
         " rounds: wrk was never idle and the servers were, so they would be wrk's own (--threads, "
         "or another machine)"},
    };
    for (size_t i = 0; i < sizeof alarms / sizeof alarms[0]; i++) {
        if (alarms[i].count)
            fprintf(to, "%s%s%" PRId64 "%s\n", before, alarms[i].front, alarms[i].count,
                    alarms[i].back);
    }
    if (line->error)
        fprintf(to, "%sno run: %s\n", before, line->error);
}

/* The short table tells of lost updates only where too much was sold as well. */
static void print_alarms(const struct table *table, const char *before, const struct row *row)
{
    const struct line *line = row->line;
    if (table->style.format != FORMAT_WIDE && line->lost_updates > 0 && line->oversold == 0)
        fprintf(table->to, "%s%" PRId64 " updates of the stock were lost\n", before,
                line->lost_updates);
    table_print_alarms(table->to, before, line);
}

/* A blank line stands before the next number of instances. */
static void print_plain(const struct table *table)
{
    print_row(table, table->cells[0]);
    for (size_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        if (i > 0 && row->line->instances != row[-1].line->instances)
            fputc('\n', table->to);
        print_row(table, table->cells[i + 1]);
        print_alarms(table, "  ! ", row);
    }
}

static void print_markdown(const struct table *table)
{
    print_markdown_row(table, table->cells[0]);
    for (int i = 0; i < table->shown_count; i++)
        fputs(table->shown[i]->words ? "| --- " : "| ---: ", table->to);
    fputs("|\n", table->to);
    for (size_t i = 0; i < table->count; i++)
        print_markdown_row(table, table->cells[i + 1]);
    fputc('\n', table->to);
    for (size_t i = 0; i < table->count; i++) {
        char before[128];
        snprintf(before, sizeof before, "- %s, %d instance%s: ", table->rows[i].line->strategy,
                 table->rows[i].line->instances, table->rows[i].line->instances == 1 ? "" : "s");
        print_alarms(table, before, &table->rows[i]);
    }
}

static double rate_of(const struct row *row)
{
    return row->line->rounds > 0 ? row->line->figures[LINE_COMMITTED].median : -1;
}

/* Rows of the same speed stay in the order of the runs. */
static int fewest_then_fastest(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    if (left->line->instances != right->line->instances)
        return left->line->instances < right->line->instances ? -1 : 1;
    if (rate_of(left) != rate_of(right))
        return rate_of(left) > rate_of(right) ? -1 : 1;
    return left->line->number < right->line->number ? -1 : 1;
}

void table_print(FILE *to, const struct document *document, const struct table_style *style,
                 struct verdict_tally *tally)
{
    const json_t *settings = json_object_get(document->json, "settings");
    bool limited = document_integer(settings, "limit_per_user") > 0;
    unsigned view = style->format == FORMAT_WIDE ? WIDE : SHORT;
    struct table table = {.style = *style,
                          .to = to,
                          .rows = memory_take((document->count + 1) * sizeof *table.rows),
                          .cells = memory_take((document->count + 1) * sizeof *table.cells)};
    for (; table.count < document->count; table.count++) {
        const struct line *line = &document->lines[table.count];
        const struct line *measure = document_conditional(document, line->instances);
        table.rows[table.count] =
            (struct row){line, measure ? measure->figures[LINE_COMMITTED].median : 0};
        tally->counts[line->verdict]++;
    }
    qsort(table.rows, table.count, sizeof *table.rows, fewest_then_fastest);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if ((columns[i].views & view) && (limited || !(columns[i].views & IF_LIMITED)))
            add_column(&table, &columns[i]);
    if (style->format == FORMAT_MD)
        print_markdown(&table);
    else
        print_plain(&table);
    free(table.rows);
    free(table.cells);
}

void table_print_legend(FILE *to, const struct table_style *style,
                        const struct verdict_tally *tally)
{
    const char *before = "\nVerdicts: ";
    for (size_t i = 0; i <= VERDICT_BROKEN; i++) {
        if (tally->counts[i] == 0)
            continue;
        fprintf(to, "%s%zu %s", before, tally->counts[i],
                i == VERDICT_UNSAFE ? "oversold or wrong, promising nothing"
                                    : verdict_name((enum verdict)i));
        before = "; ";
    }
    fputs(".\nkept: it did what it promises for so many instances, and no more was put to the\n"
          "test: nobody paused the holder of a lock for longer than its lease, and no store of\n"
          "a lock or a stock failed over. Promising nothing is for so many instances.\n",
          to);
    if (style->format == FORMAT_WIDE)
        fputs("still right if: what it promises beyond this run. stall: such a pause.\n", to);
    else
        fputs("×: times conditional's, with as many instances. --format wide: all figures.\n", to);
}

void table_print_meanwhile(FILE *to, const struct document *document)
{
    size_t measured = 0, slowed = 0;
    int64_t evicted = 0;
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        const json_t *meanwhile = json_object_get(run, "meanwhile");
        evicted += document_integer(meanwhile, "evicted_keys");
        if (document_is(run, "phase", "truth"))
            continue; /* where nothing is measured an old snapshot takes nothing from anybody */
        measured++;
        slowed += json_is_true(json_object_get(meanwhile, "old_snapshot"));
    }
    if (slowed > 0)
        fprintf(to,
                "! An old snapshot was kept in the database in %zu of %zu measurements: dead "
                "versions of hot rows stayed,\nand each order was slower than the one before. "
                "docs/DATABASE.md has the statement that names who keeps it.\n",
                slowed, measured);
    if (evicted > 0)
        fprintf(to,
                "! Redis evicted %" PRId64
                " key%s meanwhile: a lock among them was nobody's while it was "
                "held, stock and 202s\namong them are lost. Its maxmemory-policy has to be "
                "noeviction, with memory for all of its keys.\n",
                evicted, evicted == 1 ? "" : "s");
}
