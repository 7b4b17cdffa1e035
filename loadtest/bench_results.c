/* bench.json: see bench.h. */
#include "loadtest/bench.h"

#include "loadtest/results_json.h"

static json_t *json_side(const double *values, size_t count)
{
    struct bench_span span = bench_span(values, count);
    json_t *rounds = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rounds, json_real(values[i]));
    return json_pack("{sf sf sf so}", "median", span.median, "min", span.least, "max", span.most,
                     "rounds", rounds);
}

static json_t *json_row(const struct bench_row *row)
{
    json_t *trial = json_array();
    for (size_t i = 0; i < BENCH_CLIENT_COUNTS; i++)
        json_array_append_new(trial, json_pack("{si sf}", "clients", bench_client_counts[i],
                                               "orders_per_s", row->trial[i]));
    double ratio = bench_ratio(row);
    return json_pack("{ss so so si so sf sf sb}", "strategy", row->strategy, "http_orders_per_s",
                     json_side(row->http, row->rounds), "pgbench_orders_per_s",
                     json_side(row->pgbench, row->rounds), "pgbench_clients", row->clients,
                     "pgbench_trial", trial, "ratio", ratio, "target", BENCH_TARGET, "met",
                     (int)(ratio >= BENCH_TARGET));
}

bool bench_write_json(const char *folder, const struct bench_row *rows, size_t count,
                      const struct options *options, const struct machine *machine,
                      struct problem *problem)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_row(&rows[i]));
    json_t *document = json_pack("{so so so s{sI sI sI so}}", "bench", list, "machine",
                                 results_json_machine(machine), "versions",
                                 results_json_versions(machine), "settings", "connections",
                                 options->connections, "duration_s", options->duration_s, "rounds",
                                 options->rounds, "postgresql", results_json_database(machine));
    return results_json_write(folder, "bench.json", document, problem);
}
