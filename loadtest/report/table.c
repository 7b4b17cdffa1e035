/* See table.h. */
#include "loadtest/report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 1000 };

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

struct span span_of(double *values, size_t count)
{
    if (count == 0)
        return (struct span){0};
    qsort(values, count, sizeof *values, ascending);
    double middle = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    return (struct span){middle, values[0], values[count - 1]};
}

bool table_same_line(const struct phase_result *a, const struct phase_result *b)
{
    return strcmp(a->plan.strategy->name, b->plan.strategy->name) == 0 &&
           a->instances == b->instances && a->plan.swept == b->plan.swept;
}

static double figure(const struct phase_result *run, enum table_figure which)
{
    const double figures[TABLE_FIGURES] = {
        [TABLE_REQUESTS] = phase_per_s(run, run->load.requests),
        [TABLE_COMMITTED] = phase_committed_per_s(run),
        [TABLE_REFUSED] = phase_per_s(run, run->counts.refused),
        [TABLE_FAILED] = phase_per_s(run, run->counts.failed + run->counts.unknown),
        [TABLE_P50] = (double)run->load.p50_us / 1000,
        [TABLE_P99] = (double)run->load.p99_us / 1000,
    };
    return figures[which];
}

static bool is_worse(const struct phase_result *run, const struct phase_result *worst)
{
    return !worst || books_violations(&run->audit) > books_violations(&worst->audit);
}

void table_gather(const struct phase_result *runs, size_t count, const struct phase_result *of,
                  struct table_line *line)
{
    *line = (struct table_line){.verdict = VERDICT_KEPT};
    double values[TABLE_FIGURES][ROUNDS_MAX];
    for (size_t i = 0; i < count; i++) {
        const struct phase_result *run = &runs[i];
        if (!table_same_line(run, of))
            continue;
        line->runs++;
        line->verdict = verdict_merge(line->verdict, run->verdict);
        if (*run->error)
            line->error = run->error;
        line->internal_errors += run->counts.internal_errors;
        line->undersold += run->audit.undersold;
        line->missing += run->audit.missing;
        line->resold += run->audit.resold;
        line->others +=
            run->audit.duplicate_orders + run->audit.limit_violations + run->audit.negative;
        if (run->audit.lost_updates > line->lost_updates)
            line->lost_updates = run->audit.lost_updates;
        if (run->plan.kind != PHASE_SPEED && is_worse(run, line->worst))
            line->worst = run;
        if (run->plan.kind == PHASE_TRUTH || line->rounds == ROUNDS_MAX || *run->error)
            continue;
        if (usage_limit(&run->load.usage) == USAGE_GENERATOR) {
            line->generators++;
            continue;
        }
        for (int which = 0; which < TABLE_FIGURES; which++)
            values[which][line->rounds] = figure(run, (enum table_figure)which);
        line->rounds++;
    }
    for (int which = 0; which < TABLE_FIGURES; which++)
        line->figures[which] = span_of(values[which], line->rounds);
}

enum cell {
    CELL_STRATEGY,
    CELL_INSTANCES,
    CELL_REQUESTS, /* these four as in enum table_figure */
    CELL_COMMITTED,
    CELL_REFUSED,
    CELL_FAILED,
    CELL_P50,
    CELL_P99,
    CELL_STOCK,
    CELL_SOLD,
    CELL_LEFT,
    CELL_OVERSOLD,
    CELL_LOST,
    CELL_VERDICT,
    CELLS
};

enum { CELL_BYTES = 64 };

/* As wide as its widest cell, so that the table fits a screen. */
struct table {
    char (*rows)[CELLS][CELL_BYTES]; /* owned; the titles are the first */
    size_t count;
    int widths[CELLS];
};

/* Of a text on the screen: ± is two bytes and one column. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static void add_row(struct table *table, char (*cells)[CELL_BYTES])
{
    memcpy(table->rows[table->count++], cells, sizeof table->rows[0]);
    for (int i = 0; i < CELLS; i++) {
        int width = width_of(cells[i]);
        table->widths[i] = width > table->widths[i] ? width : table->widths[i];
    }
}

static void add_titles(struct table *table)
{
    char titles[CELLS][CELL_BYTES] = {
        "strategy", "inst",  "requests/s", "committed/s", "refused/s", "failed/s", "p50 ms",
        "p99 ms",   "stock", "sold",       "left",        "oversold",  "lost upd", "verdict"};
    add_row(table, titles);
}

/* "12345" or, over several rounds, "12345 ±67". */
static void write_rate(char *cell, const struct span *span)
{
    double half = (span->most - span->least) / 2;
    if (half >= 0.5)
        snprintf(cell, CELL_BYTES, "%.0f ±%.0f", span->median, half);
    else
        snprintf(cell, CELL_BYTES, "%.0f", span->median);
}

static void write_count(char *cell, int64_t count)
{
    snprintf(cell, CELL_BYTES, "%" PRId64, count);
}

static void write_speed(char (*cells)[CELL_BYTES], const struct span *figures)
{
    for (int which = TABLE_REQUESTS; which <= TABLE_FAILED; which++)
        write_rate(cells[CELL_REQUESTS + which], &figures[which]);
    snprintf(cells[CELL_P50], CELL_BYTES, "%.2f", figures[TABLE_P50].median);
    snprintf(cells[CELL_P99], CELL_BYTES, "%.2f", figures[TABLE_P99].median);
}

static void add_line(struct table *table, const struct phase_result *of,
                     const struct table_line *line)
{
    char cells[CELLS][CELL_BYTES] = {
        [CELL_STOCK] = "-", [CELL_SOLD] = "-", [CELL_LEFT] = "-", [CELL_OVERSOLD] = "-"};
    snprintf(cells[CELL_STRATEGY], CELL_BYTES, "%s", of->plan.strategy->name);
    write_count(cells[CELL_INSTANCES], of->instances);
    for (int cell = CELL_REQUESTS; cell <= CELL_P99; cell++)
        snprintf(cells[cell], CELL_BYTES, "-");
    if (line->rounds > 0)
        write_speed(cells, line->figures);
    if (line->worst) {
        const struct books *audit = &line->worst->audit;
        write_count(cells[CELL_STOCK], audit->initial_stock + audit->restocked);
        write_count(cells[CELL_SOLD], audit->sold);
        write_count(cells[CELL_LEFT], audit->stock);
        write_count(cells[CELL_OVERSOLD], audit->oversold);
    }
    write_count(cells[CELL_LOST], line->lost_updates);
    snprintf(cells[CELL_VERDICT], CELL_BYTES, "%s", verdict_name(line->verdict));
    add_row(table, cells);
}

/* Names and verdicts begin together, figures end together. */
static void print_row(FILE *to, const struct table *table, size_t row)
{
    for (int i = 0; i < CELL_VERDICT; i++) {
        const char *cell = table->rows[row][i];
        int padding = table->widths[i] - width_of(cell);
        if (i == CELL_STRATEGY)
            fprintf(to, "%s%*s", cell, padding, "");
        else
            fprintf(to, " %*s%s", padding, "", cell);
    }
    fprintf(to, "  %s\n", table->rows[row][CELL_VERDICT]);
}

static void print_alarms(FILE *to, const struct table_line *line)
{
    if (line->internal_errors)
        fprintf(to, "  ! the server answered internal_error %" PRId64 " times: see its log\n",
                line->internal_errors);
    if (line->missing)
        fprintf(to, "  ! %" PRId64 " orders were answered 201 or 202 and have no row\n",
                line->missing);
    if (line->undersold)
        fprintf(to, "  ! sold out was answered with %" PRId64 " units left\n", line->undersold);
    if (line->resold)
        fprintf(to, "  ! sold out was answered, and %" PRId64 " orders that came later were sold\n",
                line->resold);
    if (line->others)
        fprintf(to, "  ! %" PRId64 " duplicate orders, limits exceeded or negative stocks\n",
                line->others);
    if (line->generators)
        fprintf(to,
                "  ! no figures of %zu rounds: wrk was never idle and the servers were, so they "
                "would be wrk's own (--threads, or another machine)\n",
                line->generators);
    if (line->error)
        fprintf(to, "  ! no run: %s\n", line->error);
}

static bool is_first_of_its_line(const struct phase_result *runs, size_t index)
{
    for (size_t earlier = 0; earlier < index; earlier++) {
        if (table_same_line(&runs[earlier], &runs[index]))
            return false;
    }
    return true;
}

/* A blank line stands before the next number of instances. */
static void print_rows(FILE *to, const struct table *table, const struct table_line *lines)
{
    print_row(to, table, 0);
    for (size_t row = 1; row < table->count; row++) {
        if (row > 1 &&
            strcmp(table->rows[row][CELL_INSTANCES], table->rows[row - 1][CELL_INSTANCES]) != 0)
            fputc('\n', to);
        print_row(to, table, row);
        print_alarms(to, &lines[row]);
    }
}

void table_print_alarms(FILE *to, const struct phase_result *run)
{
    struct table_line line;
    table_gather(run, 1, run, &line);
    print_alarms(to, &line);
}

/* How many lines have which verdict: "47 kept; 3 unsafe, as stated". */
static void print_tally(FILE *to, const struct verdict_tally *tally)
{
    const char *before = "\nVerdicts: ";
    for (size_t i = 0; i <= VERDICT_BROKEN; i++) {
        if (tally->counts[i] == 0)
            continue;
        fprintf(to, "%s%zu %s", before, tally->counts[i], verdict_name((enum verdict)i));
        before = "; ";
    }
    fprintf(to, ".\nkept: the strategy did what it promises for so many instances. unsafe, as "
                "stated: it promises nothing\nthere, and PostgreSQL's rows show it.\n");
}

void table_print(FILE *to, const struct phase_result *runs, size_t count,
                 struct verdict_tally *tally)
{
    struct table table = {.rows = calloc(count + 1, sizeof *table.rows)};
    struct table_line *lines = calloc(count + 1, sizeof *lines); /* of the same row */
    if (table.rows && lines) {
        add_titles(&table);
        for (size_t i = 0; i < count; i++) {
            if (!is_first_of_its_line(runs, i))
                continue;
            struct table_line *line = &lines[table.count];
            table_gather(runs, count, &runs[i], line);
            add_line(&table, &runs[i], line);
            tally->counts[line->verdict]++;
        }
        print_rows(to, &table, lines);
        print_tally(to, tally);
    } else {
        fprintf(to, "no table: out of memory\n"); /* the empty tally says that it is no run */
    }
    free(table.rows);
    free(lines);
}
