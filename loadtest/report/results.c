/* See results.h. */
#include "loadtest/report/results.h"

#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/pipeline/gate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* jansson's own pack: s string, i int, I json_int_t, f double, b bool, o stolen object. */
json_t *results_json_audit(const struct books *audit)
{
    json_t *strategies = json_array();
    char names[BOOKS_STRATEGIES_MAX];
    snprintf(names, sizeof names, "%s", audit->strategies);
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        json_array_append_new(strategies, json_string(name));
    return json_pack(
        "{sI sI sI sI sI sI sI sI sI sI so sb sI sI sI sI sI}", "initial_stock",
        audit->initial_stock, "restocked", audit->restocked, "negative", audit->negative, "sold",
        audit->sold, "oversold", audit->oversold, "lost_updates", audit->lost_updates,
        "duplicate_orders", audit->duplicate_orders, "limit_violations", audit->limit_violations,
        "queued", audit->queued, "held", audit->held, "strategies", strategies, "consistent",
        books_consistent(audit), "undersold", audit->undersold, "missing", audit->missing, "resold",
        audit->resold, "unrepeatable", audit->unrepeatable, "stock", audit->stock);
}

/* As GET /strategies calls them. */
json_t *results_json_promise(const struct promise *promise)
{
    return json_pack("[s*s*s*s*]", promise->one_instance ? "one_instance" : NULL,
                     promise->many_instances ? "many_instances" : NULL,
                     promise->paused_holder ? "paused_holder" : NULL,
                     promise->redis_failover ? "redis_failover" : NULL);
}

/* One order's, by how it ended; an ending that no order had is left out. */
static json_t *json_costs(const struct costs *costs)
{
    json_t *all = json_object();
    for (int end = 0; end < COSTS_ENDS; end++) {
        if (costs->orders[end] <= 0)
            continue;
        json_t *one = json_pack("{sI}", "orders", costs->orders[end]);
        for (int store = 0; store < COSTS_STORES; store++) {
            json_t *each = json_object();
            for (int measure = 0; measure < COSTS_MEASURES; measure++)
                json_object_set_new(each, costs_measures[measure],
                                    json_real(costs_each(costs, end, store, measure)));
            json_object_set_new(one, costs_stores[store], each);
        }
        json_object_set_new(all, costs_ends[end], one);
    }
    return all;
}

json_t *results_json_run(const struct phase_result *run)
{
    const struct phase_plan *plan = &run->plan;
    const struct load_result *wrk = &run->load;
    const struct counts *counts = &run->counts;
    struct promise promise = phase_promise(run);
    json_t *row = json_pack("{ss ss si ss ss si sI sI sf sI sI}", "strategy", plan->strategy->name,
                            "body", plan->body, "instances", run->instances, "scenario",
                            scenario_name(plan->scenario), "phase", phase_name(plan->kind), "round",
                            plan->round, "connections", plan->load.connections, "threads",
                            plan->load.threads, "duration_s", (double)wrk->duration_us / 1e6,
                            "stock", plan->stock, "products", plan->load.products);
    json_t *steps = plan->load.detail && plan->load.detail->answers.count > 0
                        ? open_results_steps(&plan->load.detail->answers)
                        : NULL;
    json_object_update_new(
        row, json_pack("{sI sI sf sI sf sI sI sI sI s{sI sI sI sI so*} sI sI}", "requests",
                       wrk->requests, "repeats", wrk->repeats, "requests_per_s",
                       phase_per_s(run, wrk->requests), "committed", phase_committed(run),
                       "committed_per_s", phase_committed_per_s(run), "refused", counts->refused,
                       "limit_reached", counts->limited, "failed", counts->failed, "unknown",
                       counts->unknown, "latency_us", "p50", wrk->p50_us, "p90", wrk->p90_us, "p99",
                       wrk->p99_us, "max", wrk->max_us, "steps", steps, "accepted",
                       counts->accepted, "internal_errors", counts->internal_errors));
    bool open = plan->rate_per_s > 0;
    json_object_update_new(
        row,
        json_pack("{so so s{sb sI} so ss so* ss* so*}", "audit", results_json_audit(&run->audit),
                  "cost_per_order", json_costs(&run->costs), "meanwhile", "old_snapshot",
                  (int)run->meanwhile.old_snapshot, "evicted_keys", run->meanwhile.evicted_keys,
                  "promise", results_json_promise(&promise), "verdict", verdict_name(run->verdict),
                  "open_loop", open ? open_results_json(run) : NULL, "limit",
                  open ? NULL : usage_limit_name(usage_limit(&wrk->usage)), "thresholds",
                  gate_json(run)));
    if (*run->error) /* which may be no UTF-8, and is left out then */
        json_object_set_new(row, "error", json_string(run->error));
    return row;
}

json_t *results_json_machine(const struct machine *machine)
{
    return json_pack("{ss ss sI sI sb}", "cpu", machine->cpu, "kernel", machine->kernel, "cores",
                     (json_int_t)machine->cores, "memory_mib", (json_int_t)machine->memory_mib,
                     "durable", (int)machine->durable);
}

json_t *results_json_versions(const struct machine *machine)
{
    return json_pack("{ss ss ss ss}", "seckill-loadtest", SECKILL_VERSION, "seckill-server",
                     machine->server, "wrk", machine->wrk, "postgresql", machine->postgresql);
}

json_t *results_json_database(const struct machine *machine)
{
    json_t *settings = json_object();
    for (size_t i = 0; i < machine->database_settings_count; i++)
        json_object_set_new(settings, machine->database_settings[i].name,
                            json_string(machine->database_settings[i].value));
    return settings;
}

/* No connection strings, no token, no header's value: a results file is for passing on. */
static json_t *json_settings(const struct options *options, const struct machine *machine)
{
    json_t *instances = json_array();
    for (size_t i = 0; i < options->instances.count; i++)
        json_array_append_new(instances, json_integer(options->instances.items[i]));
    char headers[HEADERS_SIZE];
    headers_names(options->headers, headers, sizeof headers);
    return json_pack("{ss so sI sI sI sI sI sI sI sI sI sI sI ss ss ss si so}", "scenario",
                     scenario_name(options->scenario), "instances", instances, "connections",
                     options->connections, "threads", options->threads, "rate_per_s",
                     options->rate_per_s, "duration_s", options->duration_s, "stock",
                     options->stock, "users", options->users, "limit_per_user", options->limit,
                     "products", options->products, "rounds", options->rounds, "work_ms",
                     options->work_ms, "wait_ms", options->wait_ms, "body", options->body,
                     "headers", headers, "keys", options->keyed ? options->keys : "", "servers",
                     (int)options->servers.count, "postgresql", results_json_database(machine));
}

json_t *results_json_document(json_t *runs, const struct options *options,
                              const struct machine *machine)
{
    char now[32];
    time_t at = time(NULL);
    struct tm parts;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &parts));
    return json_pack("{sO ss ss sI so so so}", "runs", runs, "made_at", now, "command",
                     options->said, "seed", options->seed, "machine", results_json_machine(machine),
                     "versions", results_json_versions(machine), "settings",
                     json_settings(options, machine));
}

bool results_publish(const char *folder, json_t *json, const struct results_csv *csv,
                     struct document *out, struct error *error)
{
    return document_write(folder, json, out, error) &&
           files_write_csv(folder, csv->name, csv->columns, out->runs, error) &&
           (!csv->arrivals || open_results_write_csv(folder, out, error)) &&
           page_write_run(folder, out, error);
}
