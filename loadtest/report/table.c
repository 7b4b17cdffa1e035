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
        [TABLE_LIMITED] = phase_per_s(run, run->counts.limited),
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
        line->unrepeatable += run->audit.unrepeatable;
        line->limits += run->audit.limit_violations;
        line->others += run->audit.duplicate_orders + run->audit.negative;
        line->limited += run->plan.kind == PHASE_SPEED ? run->counts.limited : 0;
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

void table_print_alarms(FILE *to, const char *before, const struct table_line *line)
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
