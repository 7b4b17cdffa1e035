/* bench.json and bench.csv: the rows, and every figure of every round behind them. */
#include "bench/bench.h"

#include "loadtest/report/files.h"
#include "loadtest/report/results.h"

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
    const struct session *session = &report->bench->session;
    const struct options *options = session->options;
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
                  "measurements", measures, "machine", results_json_machine(&session->machine),
                  "versions", results_json_versions(&session->machine), "load_average",
                  report->bench->load_average, "waited_s", (double)report->bench->waited_ms / 1000,
                  "log_files_made", (int)report->bench->log_files, "orders_grew",
                  (int)report->bench->orders_grew, "settings", "connections", options->connections,
                  "duration_s", options->duration_s, "rounds", options->rounds, "more_rounds",
                  own->more_rounds, "max_steal", own->max_steal, "max_wait_s", own->max_wait_s,
                  "full", (int)own->full, "postgresql", results_json_database(&session->machine));
    return results_json_write(session->folder, "bench.json", document, error);
}

bool bench_write_csv(const struct bench_report *report, struct error *error)
{
    FILE *file = files_create(report->bench->session.folder, "bench.csv", error);
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
