/* The columns of the table, and their print: see table.h. */
#include "loadtest/report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 64 };
enum paint { PLAIN, GREEN, YELLOW, RED };

struct cell {
    char text[CELL_BYTES];
    enum paint paint;
};

struct row {
    const struct phase_result *of; /* borrowed: the line's first run */
    struct table_line line;
    double measure; /* committed/s of `conditional` with as many instances; 0: not known */
};

static void write_count(struct cell *cell, int64_t count)
{
    snprintf(cell->text, CELL_BYTES, "%" PRId64, count);
}

static void write_strategy(const struct row *row, struct cell *cell)
{
    snprintf(cell->text, CELL_BYTES, "%s", row->of->plan.strategy->name);
}

static void write_instances(const struct row *row, struct cell *cell)
{
    write_count(cell, row->of->instances);
}

/* "12345" or, over several rounds, "12345 ±67". */
static void write_rate(const struct row *row, enum table_figure which, struct cell *cell)
{
    const struct span *span = &row->line.figures[which];
    double half = (span->most - span->least) / 2;
    if (row->line.rounds == 0)
        return;
    if (half >= 0.5)
        snprintf(cell->text, CELL_BYTES, "%.0f ±%.0f", span->median, half);
    else
        snprintf(cell->text, CELL_BYTES, "%.0f", span->median);
}

static void write_requests(const struct row *row, struct cell *cell)
{
    write_rate(row, TABLE_REQUESTS, cell);
}

static void write_committed(const struct row *row, struct cell *cell)
{
    write_rate(row, TABLE_COMMITTED, cell);
}

static void write_refused(const struct row *row, struct cell *cell)
{
    write_rate(row, TABLE_REFUSED, cell);
}

static void write_limited(const struct row *row, struct cell *cell)
{
    write_rate(row, TABLE_LIMITED, cell);
}

static void write_failed(const struct row *row, struct cell *cell)
{
    write_rate(row, TABLE_FAILED, cell);
}

/* "4260 ×1.00", of four places so that the rates end together. */
static void write_compared(const struct row *row, struct cell *cell)
{
    double rate = row->line.figures[TABLE_COMMITTED].median;
    double times = row->measure > 0 ? rate / row->measure : 0;
    if (row->line.rounds == 0)
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

static void write_latency(const struct row *row, enum table_figure which, struct cell *cell)
{
    double ms = row->line.figures[which].median;
    if (row->line.rounds > 0)
        snprintf(cell->text, CELL_BYTES, "%.*f", ms < 100 ? 2 : 1, ms);
}

static void write_p50(const struct row *row, struct cell *cell)
{
    write_latency(row, TABLE_P50, cell);
}

static void write_p99(const struct row *row, struct cell *cell)
{
    write_latency(row, TABLE_P99, cell);
}

static int64_t stock_of(const struct books *audit)
{
    return audit->initial_stock + audit->restocked;
}

static void write_stock(const struct row *row, struct cell *cell)
{
    if (row->line.worst)
        write_count(cell, stock_of(&row->line.worst->audit));
}

static void write_sold(const struct row *row, struct cell *cell)
{
    if (row->line.worst)
        write_count(cell, row->line.worst->audit.sold);
}

static void write_left(const struct row *row, struct cell *cell)
{
    if (row->line.worst)
        write_count(cell, row->line.worst->audit.stock);
}

static void write_oversold(const struct row *row, struct cell *cell)
{
    if (row->line.worst)
        write_count(cell, row->line.worst->audit.oversold);
    cell->paint = row->line.worst && row->line.worst->audit.oversold > 0 ? RED : PLAIN;
}

static void write_lost(const struct row *row, struct cell *cell)
{
    write_count(cell, row->line.lost_updates);
    cell->paint = row->line.lost_updates > 0 ? RED : PLAIN;
}

static void write_sold_of_stock(const struct row *row, struct cell *cell)
{
    if (!row->line.worst)
        return;
    const struct books *audit = &row->line.worst->audit;
    snprintf(cell->text, CELL_BYTES, "%" PRId64 "/%" PRId64, audit->sold, stock_of(audit));
    cell->paint = audit->oversold > 0 ? RED : PLAIN;
}

static void write_verdict(const struct row *row, struct cell *cell)
{
    static const enum paint paints[] = {
        [VERDICT_KEPT] = GREEN, [VERDICT_PROVED_NOTHING] = YELLOW,
        [VERDICT_UNSAFE] = RED, [VERDICT_NO_RUN] = YELLOW,
        [VERDICT_BROKEN] = RED,
    };
    snprintf(cell->text, CELL_BYTES, "%s", verdict_name(row->line.verdict));
    cell->paint = paints[row->line.verdict];
}

static void write_right_if(const struct row *row, struct cell *cell)
{
    struct promise promise = phase_promise(row->of);
    snprintf(cell->text, CELL_BYTES, "%s", promise_right_if(&promise));
    if (promise.many_instances && promise.paused_holder && promise.redis_failover)
        cell->paint = GREEN;
    else
        cell->paint = promise.one_instance ? YELLOW : RED;
}

/* IF_LIMITED: only where there was a limit a user. */
enum { SHORT = 1, WIDE = 2, IF_LIMITED = 4 };

/* Words begin together, figures end together. What a column has nothing for is "-". */
static const struct column {
    const char *title;
    unsigned views;
    bool words;
    void (*write)(const struct row *row, struct cell *cell);
} columns[] = {
    {"strategy", SHORT | WIDE, true, write_strategy},
    {"inst", SHORT | WIDE, false, write_instances},
    {"requests/s", WIDE, false, write_requests},
    {"committed/s", WIDE, false, write_committed},
    {"committed/s", SHORT, false, write_compared},
    {"refused/s", WIDE, false, write_refused},
    {"limited/s", WIDE | IF_LIMITED, false, write_limited},
    {"failed/s", WIDE, false, write_failed},
    {"p50 ms", SHORT | WIDE, false, write_p50},
    {"p99 ms", SHORT | WIDE, false, write_p99},
    {"stock", WIDE, false, write_stock},
    {"sold", WIDE, false, write_sold},
    {"left", WIDE, false, write_left},
    {"oversold", WIDE, false, write_oversold},
    {"lost upd", WIDE, false, write_lost},
    {"sold/stock", SHORT, false, write_sold_of_stock},
    {"verdict", SHORT | WIDE, true, write_verdict},
    {"still right if", SHORT | WIDE, true, write_right_if},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* As wide as its widest cell, so that the table fits a screen. */
struct table {
    struct table_style style;
    FILE *to;
    struct row *rows; /* owned */
    size_t count;
    bool limited; /* one of them has a limit a user */
    int widths[COLUMNS];
};

static bool is_shown(const struct table *table, const struct column *column)
{
    return (column->views & (table->style.format == FORMAT_WIDE ? WIDE : SHORT)) != 0 &&
           (table->limited || !(column->views & IF_LIMITED));
}

/* Of a text on the screen: ± is two bytes and one column. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

/* `row` NULL: the title. */
static struct cell cell_of(const struct column *column, const struct row *row)
{
    struct cell cell = {.paint = PLAIN};
    snprintf(cell.text, CELL_BYTES, "%s", row ? "-" : column->title);
    if (row)
        column->write(row, &cell);
    return cell;
}

static void measure_widths(struct table *table)
{
    for (int i = 0; i < COLUMNS; i++) {
        table->widths[i] = width_of(columns[i].title);
        for (size_t row = 0; row < table->count; row++) {
            struct cell cell = cell_of(&columns[i], &table->rows[row]);
            int width = width_of(cell.text);
            table->widths[i] = width > table->widths[i] ? width : table->widths[i];
        }
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

/* `row` NULL: the titles. Nothing stands behind the last column's text. */
static void print_row(const struct table *table, const struct row *row)
{
    bool first = true;
    int behind = 0; /* spaces that the column before is short of */
    for (int i = 0; i < COLUMNS; i++) {
        if (!is_shown(table, &columns[i]))
            continue;
        struct cell cell = cell_of(&columns[i], row);
        int padding = table->widths[i] - width_of(cell.text);
        fprintf(table->to, "%*s",
                behind + (columns[i].words ? 0 : padding) + (first ? 0 : 1 + columns[i].words), "");
        print_text(table, &cell);
        behind = columns[i].words ? padding : 0;
        first = false;
    }
    fputc('\n', table->to);
}

static void print_markdown_row(const struct table *table, const struct row *row)
{
    for (int i = 0; i < COLUMNS; i++) {
        struct cell cell = cell_of(&columns[i], row);
        if (is_shown(table, &columns[i]))
            fprintf(table->to, "| %s ", cell.text);
    }
    fputs("|\n", table->to);
    if (row)
        return;
    for (int i = 0; i < COLUMNS; i++) {
        if (is_shown(table, &columns[i]))
            fputs(columns[i].words ? "| --- " : "| ---: ", table->to);
    }
    fputs("|\n", table->to);
}

/* The eight columns tell of lost updates only where too much was sold as well. */
static void print_alarms(const struct table *table, const char *before, const struct row *row)
{
    bool oversold = row->line.worst && row->line.worst->audit.oversold > 0;
    if (table->style.format != FORMAT_WIDE && row->line.lost_updates > 0 && !oversold)
        fprintf(table->to, "%s%" PRId64 " updates of the stock were lost\n", before,
                row->line.lost_updates);
    table_print_alarms(table->to, before, &row->line);
}

/* A blank line stands before the next number of instances. */
static void print_plain(const struct table *table)
{
    print_row(table, NULL);
    for (size_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        if (i > 0 && row->of->instances != row[-1].of->instances)
            fputc('\n', table->to);
        print_row(table, row);
        print_alarms(table, "  ! ", row);
    }
}

static void print_markdown(const struct table *table)
{
    print_markdown_row(table, NULL);
    for (size_t i = 0; i < table->count; i++)
        print_markdown_row(table, &table->rows[i]);
    fputc('\n', table->to);
    for (size_t i = 0; i < table->count; i++) {
        char before[128];
        snprintf(before, sizeof before,
                 "- %s, %d instance%s: ", table->rows[i].of->plan.strategy->name,
                 table->rows[i].of->instances, table->rows[i].of->instances == 1 ? "" : "s");
        print_alarms(table, before, &table->rows[i]);
    }
}

static double rate_of(const struct row *row)
{
    return row->line.rounds > 0 ? row->line.figures[TABLE_COMMITTED].median : -1;
}

/* What is as fast stays in the order of the runs. */
static int fewest_then_fastest(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    if (left->of->instances != right->of->instances)
        return left->of->instances < right->of->instances ? -1 : 1;
    if (rate_of(left) != rate_of(right))
        return rate_of(left) > rate_of(right) ? -1 : 1;
    return left->of < right->of ? -1 : 1;
}

static bool is_first_of_its_line(const struct phase_result *runs, size_t index)
{
    for (size_t earlier = 0; earlier < index; earlier++) {
        if (table_same_line(&runs[earlier], &runs[index]))
            return false;
    }
    return true;
}

static void compare_rows(struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        for (size_t j = 0; j < table->count; j++) {
            if (table->rows[j].of->instances == table->rows[i].of->instances &&
                strcmp(table->rows[j].of->plan.strategy->name, "conditional") == 0)
                table->rows[i].measure = table->rows[j].line.figures[TABLE_COMMITTED].median;
        }
    }
}

void table_print(FILE *to, const struct phase_result *runs, size_t count,
                 const struct table_style *style, struct verdict_tally *tally)
{
    struct table table = {.style = *style, .to = to, .rows = calloc(count + 1, sizeof *table.rows)};
    if (!table.rows) {
        fprintf(to, "no table: out of memory\n"); /* the empty tally says that it is no run */
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_first_of_its_line(runs, i))
            continue;
        struct row *row = &table.rows[table.count++];
        row->of = &runs[i];
        table.limited = table.limited || runs[i].plan.limit > 0;
        table_gather(runs, count, &runs[i], &row->line);
        tally->counts[row->line.verdict]++;
    }
    compare_rows(&table);
    qsort(table.rows, table.count, sizeof *table.rows, fewest_then_fastest);
    measure_widths(&table);
    if (style->format == FORMAT_MD)
        print_markdown(&table);
    else
        print_plain(&table);
    free(table.rows);
}

void table_print_legend(FILE *to, const struct table_style *style,
                        const struct verdict_tally *tally)
{
    const char *before = "\nVerdicts: ";
    for (size_t i = 0; i <= VERDICT_BROKEN; i++) {
        if (tally->counts[i] == 0)
            continue;
        fprintf(to, "%s%zu %s", before, tally->counts[i], verdict_name((enum verdict)i));
        before = "; ";
    }
    fputs(
        ".\nkept: the strategy did what it promises for so many instances. unsafe, as stated: it "
        "promises nothing\nthere, and PostgreSQL's rows show it.\n"
        "still right if: what it promises beyond this run. stall: whoever holds the lock is paused "
        "for longer\nthan its lease. failover: the store of its lock or stock forgets what it "
        "wrote last.\n",
        to);
    if (style->format != FORMAT_WIDE)
        fputs("×: times conditional's, with as many instances. --wide has the other figures.\n",
              to);
}

/* Where nothing is measured an old snapshot takes nothing from anybody. */
static bool is_slowed(const struct phase_result *run)
{
    return run->plan.kind != PHASE_TRUTH && run->meanwhile.old_snapshot;
}

void table_print_meanwhile(FILE *to, const struct phase_result *runs, size_t count)
{
    size_t measured = 0, slowed = 0;
    int64_t evicted = 0;
    for (size_t i = 0; i < count; i++) {
        evicted += runs[i].meanwhile.evicted_keys;
        measured += runs[i].plan.kind != PHASE_TRUTH;
        slowed += is_slowed(&runs[i]);
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
