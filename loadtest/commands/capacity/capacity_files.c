/* See capacity_files.h. */
#include "loadtest/commands/capacity/capacity_files.h"

#include "loadtest/report/csv.h"
#include "loadtest/report/page/page_runs.h"

#include <inttypes.h>

bool capacity_holds(const struct phase_result *run, const struct thresholds *slo, char *why,
                    size_t size)
{
    struct measured measured;
    *why = '\0';
    if (!phase_measured(run, &measured)) {
        snprintf(why, size, "%s", *run->error ? run->error : "no figures");
        return false;
    }
    const struct threshold *broken = thresholds_find(slo, &measured, false);
    if (broken)
        threshold_say(broken, &measured, why, size);
    return !broken;
}

static void print_run(FILE *to, const struct phase_result *run, const struct thresholds *slo)
{
    char why[700];
    struct measured measured;
    bool holds = capacity_holds(run, slo, why, sizeof why);
    fprintf(to, "%8" PRId64, run->plan.rate_per_s);
    if (phase_measured(run, &measured)) {
        const struct threshold share = {.measure = THRESHOLD_FAILED, .unit = THRESHOLD_PERCENT};
        fprintf(to, " %11.1f %8.2f %8.2f %9.3f", measured.per_s[THRESHOLD_COMMITTED],
                measured.values[THRESHOLD_P50] / 1000, measured.values[THRESHOLD_P99] / 1000,
                threshold_value(&share, &measured));
    } else {
        fprintf(to, " %11s %8s %8s %9s", "", "", "", "");
    }
    fprintf(to, "  %s\n", holds ? "holds" : why);
}

/* Of the runs at the rate that was found. */
static struct line line_found(const struct capacity_found *found)
{
    for (size_t i = 0; i < found->document->count; i++)
        if (found->document->lines[i].value == found->search->found)
            return found->document->lines[i];
    return (struct line){.rounds = 0};
}

static void print_found(FILE *to, const struct capacity_found *found)
{
    const struct capacity_search *search = found->search;
    const struct line line = line_found(found);
    const struct span *rate = &line.figures[LINE_COMMITTED];
    const struct span *p50 = &line.figures[LINE_P50], *p99 = &line.figures[LINE_P99];
    fprintf(to, "%" PRId64 " orders/s hold: %d of %d runs that confirm", search->found,
            search->held, search->held + search->failed);
    if (search->fails > 0)
        fprintf(to, "; %" PRId64 " did not hold.\n", search->fails);
    else
        fprintf(to, ". No rate was tried that did not hold.\n");
    fprintf(to,
            "At that rate (median, least – most of its runs): committed/s %.1f, %.1f – %.1f; "
            "p50 ms %.2f, %.2f – %.2f; p99 ms %.2f, %.2f – %.2f.\n",
            rate->median, rate->least, rate->most, p50->median, p50->least, p50->most, p99->median,
            p99->least, p99->most);
}

void capacity_print(FILE *to, const struct capacity_found *found)
{
    const struct capacity_options *options = found->options;
    const struct capacity_search *search = found->search;
    char line[600];
    fprintf(to, "\n%s, %d instance%s, %s\n\n%8s %11s %8s %8s %9s\n", options->strategy,
            found->results->items[0].instances, found->results->items[0].instances == 1 ? "" : "s",
            options->slo, "offered/s", "committed/s", "p50 ms", "p99 ms", "failed %");
    for (size_t i = 0; i < found->results->count; i++)
        print_run(to, &found->results->items[i], found->slo);
    fputc('\n', to);
    if (search->found > 0)
        print_found(to, found);
    else if (search->stage == CAPACITY_ENDED && search->fails == search->least)
        fprintf(to, "No rate holds, from %" PRId64 " orders/s on.\n", search->least);
    else
        fprintf(to,
                "Not found: %" PRId64 " orders/s held and are not confirmed; %" PRId64
                " did not hold (0: none).\n",
                search->holds, search->fails);
    machine_line(&found->harness->machine, line, sizeof line);
    fprintf(to, "%s\n", line);
}

static json_t *json_row(const struct phase_result *run, const struct thresholds *slo)
{
    char why[700];
    json_t *row = results_json_run(run);
    bool holds = capacity_holds(run, slo, why, sizeof why);
    json_object_update_new(row, json_pack("{ss sI sb}", "over", "rate", "value",
                                          run->plan.rate_per_s, "holds", (int)holds));
    return row;
}

/* A rate of 0: there is none. */
static json_t *json_capacity(const struct capacity_found *found)
{
    const struct capacity_search *search = found->search;
    return json_pack("{ss ss sI sI sI si si}", "strategy", found->options->strategy, "slo",
                     found->options->slo, "rate_per_s", search->found, "held_per_s", search->holds,
                     "failed_per_s", search->fails, "confirmed", search->held, "not_confirmed",
                     search->failed);
}

bool capacity_write(const struct capacity_found *found, struct document *out, struct error *error)
{
    const struct harness *harness = found->harness;
    json_t *rows = json_array();
    for (size_t i = 0; i < found->results->count; i++)
        json_array_append_new(rows, json_row(&found->results->items[i], found->slo));
    json_t *document = results_json_document(rows, harness->options, &harness->machine);
    json_object_set_new(document, "capacity", json_capacity(found));
    return document_write(harness->folder, document, out, error) &&
           csv_write(harness->folder, "capacity.csv",
                     "value,holds,strategy,instances,connections,round,requests_per_s:1,"
                     "committed_per_s:1,refused,failed,unknown,latency_us_p50,latency_us_p90,"
                     "latency_us_p99,latency_us_max,verdict:q,error:q",
                     out->runs, error) &&
           page_write_run(harness->folder, out, error);
}
