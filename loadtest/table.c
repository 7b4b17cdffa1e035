/* See table.h. */
#include "loadtest/table.h"

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

double table_median(double *values, size_t count, double *spread)
{
    if (spread)
        *spread = 0;
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, ascending);
    if (spread)
        *spread = (values[count - 1] - values[0]) / 2;
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

bool table_same_line(const struct phase_result *a, const struct phase_result *b)
{
    return strcmp(a->plan.strategy->name, b->plan.strategy->name) == 0 &&
           a->instances == b->instances;
}

enum column { REQUESTS, COMMITTED, REFUSED, FAILED, P50, P99, COLUMNS };

static double figure(const struct phase_result *run, enum column column)
{
    switch (column) {
    case REQUESTS:
        return phase_per_s(run, run->wrk.requests);
    case COMMITTED:
        return phase_committed_per_s(run);
    case REFUSED:
        return phase_per_s(run, run->counts.refused);
    case FAILED:
        return phase_per_s(run, run->counts.failed + run->counts.unknown);
    case P50:
        return (double)run->wrk.p50_us / 1000;
    case P99:
        return (double)run->wrk.p99_us / 1000;
    case COLUMNS:
        break;
    }
    return 0;
}

struct line {
    double median[COLUMNS], spread[COLUMNS];
    const struct phase_result *worst; /* of the phase that sells out, where there is one */
    int64_t lost_updates;
    enum verdict verdict;
    const char *error;
    int64_t internal_errors, undersold, missing, others; /* violations without a column */
};

static bool is_worse(const struct phase_result *run, const struct phase_result *worst)
{
    return !worst || audit_violations(&run->audit) > audit_violations(&worst->audit);
}

static void gather(const struct phase_result *runs, size_t count, const struct phase_result *of,
                   struct line *line)
{
    *line = (struct line){.verdict = VERDICT_KEPT, .error = ""};
    double values[COLUMNS][ROUNDS_MAX];
    size_t rounds = 0;
    for (size_t i = 0; i < count; i++) {
        const struct phase_result *run = &runs[i];
        if (!table_same_line(run, of))
            continue;
        line->verdict = verdict_merge(line->verdict, run->verdict);
        if (*run->error)
            line->error = run->error;
        line->internal_errors += run->counts.internal_errors;
        line->undersold += run->audit.undersold;
        line->missing += run->audit.missing;
        line->others +=
            run->audit.duplicate_orders + run->audit.limit_violations + run->audit.negative;
        if (run->audit.lost_updates > line->lost_updates)
            line->lost_updates = run->audit.lost_updates;
        if (run->plan.kind != PHASE_SPEED && is_worse(run, line->worst))
            line->worst = run;
        if (run->plan.kind == PHASE_TRUTH || rounds == ROUNDS_MAX || *run->error)
            continue;
        for (int column = 0; column < COLUMNS; column++)
            values[column][rounds] = figure(run, (enum column)column);
        rounds++;
    }
    for (int column = 0; column < COLUMNS; column++)
        line->median[column] = table_median(values[column], rounds, &line->spread[column]);
}

/* "12345" or, over several rounds, "12345 ±67". */
static void print_rate(FILE *to, double median, double spread, int width)
{
    char text[48];
    if (spread >= 0.5)
        snprintf(text, sizeof text, "%.0f ±%.0f", median, spread);
    else
        snprintf(text, sizeof text, "%.0f", median);
    /* ± is two bytes and one column. */
    int bytes = (int)strlen(text);
    int columns = strstr(text, "±") ? bytes - 1 : bytes;
    fprintf(to, " %*s%s", width - columns > 0 ? width - columns : 0, "", text);
}

static void print_alarms(FILE *to, const struct line *line)
{
    if (line->internal_errors)
        fprintf(to, "  ! the server answered internal_error %" PRId64 " times: see its log\n",
                line->internal_errors);
    if (line->missing)
        fprintf(to, "  ! %" PRId64 " orders were answered 201 and have no row\n", line->missing);
    if (line->undersold)
        fprintf(to, "  ! sold out was answered with %" PRId64 " units left\n", line->undersold);
    if (line->others)
        fprintf(to, "  ! %" PRId64 " duplicate orders, limits exceeded or negative stocks\n",
                line->others);
    if (*line->error)
        fprintf(to, "  ! no run: %s\n", line->error);
}

static void print_line(FILE *to, const struct phase_result *of, const struct line *line)
{
    fprintf(to, "%-18s %4d", of->plan.strategy->name, of->instances);
    for (int column = REQUESTS; column <= FAILED; column++)
        print_rate(to, line->median[column], line->spread[column], 14);
    fprintf(to, " %8.2f %8.2f", line->median[P50], line->median[P99]);
    if (line->worst) {
        const struct audit *audit = &line->worst->audit;
        fprintf(to, " %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64,
                audit->initial_stock + audit->restocked, audit->sold, audit->stock,
                audit->oversold);
    } else {
        fprintf(to, " %8s %8s %8s %8s", "-", "-", "-", "-");
    }
    fprintf(to, " %8" PRId64 "  %s\n", line->lost_updates, verdict_name(line->verdict));
    print_alarms(to, line);
}

void table_print_alarms(FILE *to, const struct phase_result *run)
{
    struct line line;
    gather(run, 1, run, &line);
    print_alarms(to, &line);
}

void table_print(FILE *to, const struct phase_result *runs, size_t count,
                 struct verdict_tally *tally)
{
    fprintf(to, "%-18s %4s %14s %14s %14s %14s %8s %8s %8s %8s %8s %8s %8s  %s\n", "strategy",
            "inst", "requests/s", "committed/s", "refused/s", "failed/s", "p50 ms", "p99 ms",
            "stock", "sold", "left", "oversold", "lost upd", "verdict");
    for (size_t i = 0; i < count; i++) {
        bool printed = false;
        for (size_t earlier = 0; earlier < i; earlier++)
            printed = printed || table_same_line(&runs[earlier], &runs[i]);
        if (printed)
            continue;
        struct line line;
        gather(runs, count, &runs[i], &line);
        print_line(to, &runs[i], &line);
        tally->counts[line.verdict]++;
    }
}
