/* The table of the bench for people, and what stands below it. */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A share of the cores' worth of work that is somebody else's. */
#define LOAD_BUSY 0.5

/* A rate needs no decimals, a latency or a ratio needs two. */
static const char *number(double value, char out[24])
{
    snprintf(out, 24, value >= 1000 ? "%.0f" : "%.2f", value);
    return out;
}

static void span_text(const struct span *span, char *out, size_t size)
{
    char median[24], least[24], most[24];
    snprintf(out, size, "%s (%s..%s)", number(span->median, median), number(span->least, least),
             number(span->most, most));
}

/* The verdict, and what makes it less than certain; how many rounds count, when not the `usual`
 * number, and what the host took from them. */
static void verdict_text(const struct bench_judgement *of, int64_t usual, char *out, size_t size)
{
    bool figures = of->verdict <= BENCH_TOLD;
    char rounds[24] = "", left_out[40] = "";
    snprintf(rounds, sizeof rounds, "%zu rounds", of->rounds);
    snprintf(left_out, sizeof left_out, "%zu with steal left out", of->left_out);
    const char *const parts[] = {
        of->verdict == BENCH_TOLD ? "" : bench_verdict_name(of->verdict),
        figures && of->unsure ? "within noise" : "",
        figures && of->same ? "sides alike" : "",
        figures && of->rounds != (size_t)usual ? rounds : "",
        figures && of->left_out > 0 ? left_out : "",
        figures && of->with_steal ? "with steal" : "",
    };
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts && used < size; i++) {
        if (*parts[i])
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", parts[i]);
    }
}

static void print_row(FILE *to, const struct bench_row *row, const struct bench_judgement *of,
                      int64_t usual)
{
    char left[80] = "-", right[80] = "-", ratio[80] = "-", bound[24] = "-", aim[24] = "-";
    bool figures = of->verdict <= BENCH_TOLD;
    bool alone = row->against.measure == MEASURE_NONE;
    if (figures) {
        span_text(&of->of, left, sizeof left);
        span_text(&(struct span){of->ratio, of->least, of->most}, ratio, sizeof ratio);
        if (!alone)
            span_text(&of->against, right, sizeof right);
    }
    if (row->bound > 0)
        snprintf(bound, sizeof bound, "%s%.2f", row->most ? "<= " : ">= ", row->bound);
    if (row->aim > 0)
        snprintf(aim, sizeof aim, "%.2f", row->aim);
    char verdict[120];
    verdict_text(of, usual, verdict, sizeof verdict);
    fprintf(to, "%2d  %-44s %24s %24s %20s %8s %6s  %s\n", row->number, row->what, left, right,
            figures && !alone ? ratio : "", bound, aim, verdict);
}

/* Each reason once, however many rows it concerns. */
static void print_reasons(FILE *to, const struct bench_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct bench_judgement *judgement = &report->judgements[i];
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told = told || strcmp(report->judgements[k].why, judgement->why) == 0;
        if (*judgement->why && !told)
            fprintf(to, "  row %d %s: %s\n", report->rows[i]->number,
                    bench_verdict_name(judgement->verdict), judgement->why);
    }
}

static void print_limits(FILE *to, const struct bench_report *report)
{
    for (size_t i = 1; i < BENCH_MEASURES; i++) {
        const struct bench_series *series = &report->bench->series[i];
        size_t both = 0, generator = 0;
        for (size_t k = 0; k < series->count; k++) {
            both += series->samples[k].limit == USAGE_BOTH;
            generator += series->samples[k].limit == USAGE_GENERATOR;
        }
        if (2 * generator > series->count)
            fprintf(to, "  %s: wrk was never idle and the server was: no figure of the server's\n",
                    bench_measures[i].name);
        else if (2 * both > series->count)
            fprintf(to, "  %s: wrk and the server were never idle: they share the cores\n",
                    bench_measures[i].name);
    }
}

static void print_notes(FILE *to, const struct bench_report *report)
{
    for (size_t i = 1; i < BENCH_MEASURES; i++) {
        const struct bench_series *series = &report->bench->series[i];
        if (*series->note)
            fprintf(to, "  %s: %s\n", bench_measures[i].name, series->note);
        if (series->clients)
            fprintf(to, "  %s: fastest with %d clients\n", bench_measures[i].name, series->clients);
    }
}

/* The one figure that a machine which is busy otherwise does not change much. */
static void print_costs(FILE *to, const struct bench_report *report)
{
    const char *separator = "  the server's own CPU for an answer, us: ";
    for (size_t i = 1; i < BENCH_MEASURES; i++) {
        const struct bench_series *series = &report->bench->series[i];
        double values[BENCH_ROUNDS_MAX];
        for (size_t k = 0; k < series->count; k++)
            values[k] = series->samples[k].figures[FIGURE_CPU_US];
        double median = bench_span(values, series->count).median;
        if (median <= 0)
            continue;
        fprintf(to, "%s%s %.1f", separator, bench_measures[i].name, median);
        separator = ", ";
    }
    if (*separator == ',')
        fputc('\n', to);
}

static void print_steal(FILE *to, const struct bench_report *report)
{
    size_t count = 0, robbed = 0, again = 0;
    double most = 0;
    for (size_t i = 1; i < BENCH_MEASURES; i++) {
        const struct bench_series *series = &report->bench->series[i];
        count += series->count;
        for (size_t k = 0; k < series->count; k++) {
            const struct bench_sample *sample = &series->samples[k];
            robbed += sample->steal == BENCH_ROBBED;
            again += (size_t)sample->takes - 1;
            most = sample->stolen > most ? sample->stolen : most;
        }
    }
    if (robbed + again > 0)
        fprintf(to,
                "  STEAL: the host took cores away from this machine; %zu measurements were made "
                "again for that, after %" PRId64 " s of waiting in all, and %zu of %zu still have "
                "more than %" PRId64 " %%, %.0f at most\n",
                again, report->bench->waited_ms / 1000, robbed, count,
                report->bench->options->max_steal, 100 * most);
}

void bench_print(FILE *to, const struct bench_report *report)
{
    const struct session *session = &report->bench->session;
    const struct options *options = session->options;
    char line[600];
    machine_line(&session->machine, line, sizeof line);
    double load = report->bench->load_average;
    fprintf(to,
            "\n%" PRId64 " connections, %" PRId64 " rounds of %" PRId64
            " s; medians (least..most)\n\n",
            options->connections, options->rounds, options->duration_s);
    fprintf(to, "%3s %-44s %24s %24s %20s %8s %6s\n", "row", "", "this", "against", "ratio",
            "bound", "aim");
    for (size_t i = 0; i < report->count; i++)
        print_row(to, report->rows[i], &report->judgements[i], options->rounds);
    fputc('\n', to);
    print_reasons(to, report);
    print_limits(to, report);
    print_notes(to, report);
    print_costs(to, report);
    print_steal(to, report);
    if (load > LOAD_BUSY * (double)session->machine.cores)
        fprintf(to,
                "  THE MACHINE WAS BUSY: its load average was %.1f before the first measurement\n",
                load);
    if (!report->bench->log_files)
        fprintf(to,
                "  the figures contain PostgreSQL's making of new log files: pg_switch_wal() and "
                "CHECKPOINT are not allowed to this user\n");
    if (report->bench->orders_grew)
        fprintf(to,
                "  the table of orders grew from figure to figure: it holds orders that are not "
                "the benchmark's, or TRUNCATE is not allowed to this user\n");
    fprintf(to,
            "An order writes one row in orders and one update of the product's row, committed with "
            "synchronous_commit on.\nwithin noise: some rounds reach the bound and some do not. "
            "sides alike: the spreads of the two overlap.\n%s\n",
            line);
}
