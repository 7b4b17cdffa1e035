/* See report.h. */
#include "bench/report.h"

#include "loadtest/report/files.h"
#include "loadtest/report/results.h"

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
    const struct harness *harness = &report->bench->harness;
    const struct options *options = harness->options;
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
    if (load > LOAD_BUSY * (double)harness->machine.cores)
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
            "sides alike: the spreads of the two overlap.\n");
    machine_print(to, &harness->machine);
}

static json_t *json_span(const struct span *span)
{
    return json_pack("{sf sf sf}", "median", span->median, "min", span->least, "max", span->most);
}

static json_t *json_side(const struct bench_side *side, const struct span *span,
                         enum usage_limit limit)
{
    if (side->measure == MEASURE_NONE)
        return json_null();
    json_t *object = json_span(span);
    json_object_set_new(object, "measurement", json_string(bench_measures[side->measure].name));
    json_object_set_new(object, "figure", json_string(bench_figure_name(side->figure)));
    json_object_set_new(object, "limit", json_string(usage_limit_name(limit)));
    return object;
}

static json_t *json_target(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

/* A row without a figure has no ratio either, so that nobody reads one. */
static json_t *json_row(const struct bench_row *row, const struct bench_judgement *judgement)
{
    bool figures = judgement->verdict <= BENCH_TOLD;
    struct span ratio = {judgement->ratio, judgement->least, judgement->most};
    return json_pack("{si ss so so so ss so so ss sb sb sI sI sb ss}", "row", row->number, "what",
                     row->what, "of", json_side(&row->of, &judgement->of, judgement->limit[0]),
                     "against", json_side(&row->against, &judgement->against, judgement->limit[1]),
                     "ratio", figures ? json_span(&ratio) : json_null(), "reach",
                     row->most ? "at most" : "at least", "bound", json_target(row->bound), "aim",
                     json_target(row->aim), "verdict", bench_verdict_name(judgement->verdict),
                     "within_noise", figures && judgement->unsure, "sides_alike",
                     figures && judgement->same, "rounds", (json_int_t)judgement->rounds,
                     "left_out", (json_int_t)judgement->left_out, "with_steal",
                     judgement->with_steal, "why", judgement->why);
}

static json_t *json_sample(const struct bench_sample *sample)
{
    json_t *object = json_pack("{si si ss sf sb}", "round", sample->round, "takes", sample->takes,
                               "limit", usage_limit_name(sample->limit), "stolen", sample->stolen,
                               "late", (int)sample->late);
    for (int i = 0; i < BENCH_FIGURES; i++) {
        if (sample->figures[i] > 0)
            json_object_set_new(object, bench_figure_name((enum bench_figure)i),
                                json_real(sample->figures[i]));
    }
    return object;
}

static json_t *json_measure(const struct bench_measure *measure, const struct bench_series *series)
{
    json_t *rounds = json_array(), *trial = json_array();
    const int *counts = bench_client_counts[measure->products > 1];
    for (size_t i = 0; i < series->count; i++)
        json_array_append_new(rounds, json_sample(&series->samples[i]));
    for (size_t i = 0; series->clients && i < BENCH_CLIENT_COUNTS; i++)
        json_array_append_new(
            trial, json_pack("{si sf}", "clients", counts[i], "per_s", series->trial[i]));
    return json_pack("{ss so so si ss ss}", "name", measure->name, "rounds", rounds, "trial", trial,
                     "clients", series->clients, "note", series->note, "why", series->why);
}

bool bench_write_json(const struct bench_report *report, struct error *error)
{
    const struct harness *harness = &report->bench->harness;
    const struct options *options = harness->options;
    const struct bench_options *own = report->bench->options;
    json_t *rows = json_array(), *measures = json_array();
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(rows, json_row(report->rows[i], &report->judgements[i]));
    for (size_t i = 1; i < BENCH_MEASURES; i++) {
        if (report->bench->series[i].wanted)
            json_array_append_new(measures,
                                  json_measure(&bench_measures[i], &report->bench->series[i]));
    }
    json_t *document =
        json_pack("{so so so so sf sf sb sb s{sI sI sI sI sI sI sb so}}", "rows", rows,
                  "measurements", measures, "machine", results_json_machine(&harness->machine),
                  "versions", results_json_versions(&harness->machine), "load_average",
                  report->bench->load_average, "waited_s", (double)report->bench->waited_ms / 1000,
                  "log_files_made", (int)report->bench->log_files, "orders_grew",
                  (int)report->bench->orders_grew, "settings", "connections", options->connections,
                  "duration_s", options->duration_s, "rounds", options->rounds, "more_rounds",
                  own->more_rounds, "max_steal", own->max_steal, "max_wait_s", own->max_wait_s,
                  "full", (int)own->full, "postgresql", results_json_database(&harness->machine));
    return files_write_json(harness->folder, "bench.json", document, error);
}

bool bench_write_csv(const struct bench_report *report, struct error *error)
{
    FILE *file = files_create(report->bench->harness.folder, "bench.csv", error);
    if (!file)
        return false;
    fputs("row,what,of,of_min,of_max,against,against_min,against_max,ratio,ratio_min,ratio_max,"
          "reach,bound,aim,verdict,within_noise,sides_alike,rounds,left_out,with_steal\n",
          file);
    for (size_t i = 0; i < report->count; i++) {
        const struct bench_row *row = report->rows[i];
        const struct bench_judgement *it = &report->judgements[i];
        bool figures = it->verdict <= BENCH_TOLD;
        fprintf(file, "%d,\"%s\",", row->number, row->what);
        if (figures)
            fprintf(file, "%g,%g,%g,%g,%g,%g,%g,%g,%g", it->of.median, it->of.least, it->of.most,
                    it->against.median, it->against.least, it->against.most, it->ratio, it->least,
                    it->most);
        else
            fputs(",,,,,,,,", file);
        fprintf(file, ",%s,%g,%g,%s,%d,%d,%zu,%zu,%d\n", row->most ? "at most" : "at least",
                row->bound, row->aim, bench_verdict_name(it->verdict), figures && it->unsure,
                figures && it->same, it->rounds, it->left_out, it->with_steal);
    }
    return files_close(file, "bench.csv", error);
}
