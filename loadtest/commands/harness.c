/* See harness.h. */
#include "loadtest/commands/harness.h"

#include "base/clock.h"
#include "base/options/nearest.h"
#include "loadtest/base/pool.h"
#include "loadtest/base/terminal.h"
#include "loadtest/report/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_BYTES = 300,
    READY_LIMIT_MS = 5000 /* after it listens: a slow PostgreSQL has the tables made meanwhile */
};

void progress_next(struct progress *progress, size_t number, size_t all, int64_t now_ms)
{
    if (number == 1)
        progress->began_ms = now_ms;
    progress->number = number;
    progress->all = all;
    progress->over_ms = now_ms;
}

/* The phases that are still to come take as long as those that are over; of the one that goes on,
 * what it took so far is gone. */
static int64_t left_s(const struct progress *progress, int64_t now_ms)
{
    int64_t over = (int64_t)progress->number - 1;
    int64_t to_come = (int64_t)progress->all - over;
    int64_t left_ms =
        (progress->over_ms - progress->began_ms) * to_come / over - (now_ms - progress->over_ms);
    return left_ms > 0 ? left_ms / 1000 : 0;
}

void progress_text(const struct progress *progress, int64_t now_ms, const char *what, char *out,
                   size_t size)
{
    char left[40] = "", oversold[40] = "";
    if (progress->number == 0) {
        snprintf(out, size, "%s", what);
        return;
    }
    if (progress->number > 1 && progress->number <= progress->all) {
        int64_t seconds = left_s(progress, now_ms);
        if (seconds < 60)
            snprintf(left, sizeof left, ", %" PRId64 " s left", seconds);
        else
            snprintf(left, sizeof left, ", %" PRId64 " min left", (seconds + 59) / 60);
    }
    if (progress->oversold > 0)
        snprintf(oversold, sizeof oversold, ", %" PRId64 " oversold", progress->oversold);
    snprintf(out, size, "%zu of %zu%s%s: %s", progress->number, progress->all, left, oversold,
             what);
}

/* The line that says what is going on, rewritten in place; for a terminal alone. A line that is
 * longer than the terminal's could not be taken away again. */
static void progress(void *context, const char *what)
{
    const struct harness *harness = context;
    char line[LINE_BYTES];
    progress_text(&harness->progress, clock_mono_ms(), what, line, sizeof line);
    fprintf(stderr, "\r\033[K%.*s", terminal_columns(stderr) - 1, line);
    fflush(stderr);
}

void harness_clear_progress(const struct harness *harness)
{
    if (harness->fleet.progress)
        fputs("\r\033[K", stderr);
}

void harness_print_files(const struct harness *harness, FILE *to, const char *csv, const char *more)
{
    fprintf(to, "Files: %s/%s, %s/results.json%s\nReport: %s/report.html\n", harness->folder, csv,
            harness->folder, more, harness->folder);
}

int harness_status(bool made, int status, const struct error *error)
{
    if (made)
        return status;
    process_fail(error->text);
    return status == 1 ? 1 : 2;
}

static void say_over(const struct harness *harness, const struct phase_result *result,
                     size_t number, size_t all)
{
    const struct phase_plan *plan = &result->plan;
    char figures[80];
    if (harness->fleet.progress)
        return;
    /* Where the stock is what is measured a rate says nothing. */
    if (plan->kind == PHASE_TRUTH)
        snprintf(figures, sizeof figures, "sold %" PRId64 " of %" PRId64, result->audit.sold,
                 result->audit.initial_stock);
    else
        snprintf(figures, sizeof figures, "%.0f committed/s, %" PRId64 " sold",
                 phase_committed_per_s(result), result->audit.sold);
    fprintf(stderr, "seckill-loadtest: %zu of %zu: %s, %d instance%s, round %d, %s: %s, %s\n",
            number, all, plan->strategy->name, result->instances, result->instances == 1 ? "" : "s",
            plan->round, phase_name(plan->kind), figures, verdict_name(result->verdict));
}

/* As far as there is room: nothing is judged by them. */
static void know_redis(struct fleet *fleet, const char *url, size_t length)
{
    size_t i = 0;
    while (i < FLEET_REDIS_MAX && *fleet->redis[i] &&
           (strlen(fleet->redis[i]) != length || strncmp(fleet->redis[i], url, length) != 0))
        i++;
    if (i < FLEET_REDIS_MAX && length < FLEET_REDIS_URL)
        snprintf(fleet->redis[i], FLEET_REDIS_URL, "%.*s", (int)length, url);
}

static void know_every_redis(struct fleet *fleet, const struct options *options)
{
    const char *nodes = options->redlock ? options->redlock : "";
    if (options->redis)
        know_redis(fleet, options->redis, strlen(options->redis));
    if (options->stock_redis)
        know_redis(fleet, options->stock_redis, strlen(options->stock_redis));
    for (size_t length; *nodes; nodes += length + (nodes[length] == ',')) {
        length = strcspn(nodes, ",");
        know_redis(fleet, nodes, length);
    }
}

bool harness_init(struct harness *harness, const struct options *options, struct error *error)
{
    *harness = (struct harness){.options = options, .runs = json_array()};
    char wrk[sizeof harness->machine.wrk] = "";
    if (options_use_wrk(options) && !wrk_version(wrk, sizeof wrk, error))
        return false;
    harness->api = api_create(options->admin_token);
    if (options->servers.count == 0 &&
        !instance_find_binary(options, harness->binary, sizeof harness->binary, error))
        return false;
    harness->witness = options->databases.count > 1
                           ? witness_create_cells(options->databases.items,
                                                  options->databases.count, options->schema, error)
                           : witness_create(options->database, options->schema, error);
    if (!harness->witness || !machine_look(&harness->machine, harness->witness, error) ||
        !files_make_folder(options->out, harness->folder, sizeof harness->folder,
                           &harness->made_folder, error))
        return false;
    memcpy(harness->machine.wrk, wrk, sizeof wrk);
    if (*harness->binary)
        machine_ask_server(&harness->machine, harness->binary);
    harness->fleet = (struct fleet){
        .api = harness->api, .witness = harness->witness, .admin_token = options->admin_token};
    know_every_redis(&harness->fleet, options);
    harness->fleet.progress_context = harness;
    if (terminal_rewrites(stderr))
        harness->fleet.progress = progress;
    return true;
}

void harness_fini(struct harness *harness)
{
    struct error ignored;
    (void)harness_close_fleet(harness, &ignored);
    api_destroy(harness->api);
    witness_destroy(harness->witness);
    json_decref(harness->runs);
    if (harness->made_folder)
        rmdir(harness->folder); /* it goes only when nothing was written */
}

bool harness_open_fleet(struct harness *harness, int count, struct error *error)
{
    const struct options *options = harness->options;
    struct fleet *fleet = &harness->fleet;
    bool ours = options->servers.count == 0;
    if (ours && !instance_start_all(harness->instances, (size_t)count, options, harness->binary,
                                    harness->folder, error))
        return false;
    fleet->instances = ours ? harness->instances : NULL;
    fleet->count = (size_t)count;
    fleet->balancer = *options->balancer ? options->balancer : NULL;
    for (size_t i = 0; i < fleet->count; i++)
        fleet->urls[i] = ours ? harness->instances[i].url : options->servers.items[i];
    int64_t until_ms = clock_mono_ms() + (ours ? READY_LIMIT_MS : 0);
    for (size_t i = 0; i < fleet->count; i++) {
        while (!api_ready(harness->api, fleet->urls[i], &harness->machine.durable,
                          harness->machine.unsafe, error)) {
            if (clock_mono_ms() >= until_ms || !process_sleep_ms(100))
                return false;
        }
    }
    int found = api_strategies(harness->api, fleet->urls[0], harness->strategies,
                               HARNESS_STRATEGIES_MAX, error);
    harness->strategies_count = found > 0 ? (size_t)found : 0;
    return found > 0;
}

bool harness_close_fleet(struct harness *harness, struct error *error)
{
    struct fleet *fleet = &harness->fleet;
    size_t count = fleet->instances ? fleet->count : 0;
    fleet->count = 0;
    fleet->instances = NULL;
    return instance_stop_all(harness->instances, count, error);
}

const struct api_strategy *harness_strategy(const struct harness *harness, const char *name)
{
    for (size_t i = 0; i < harness->strategies_count; i++) {
        if (strcmp(harness->strategies[i].name, name) == 0)
            return &harness->strategies[i];
    }
    return NULL;
}

const struct api_strategy *harness_choose(const struct harness *harness, const char *name,
                                          struct error *error)
{
    const struct api_strategy *strategy = harness_strategy(harness, name);
    struct nearest nearest = nearest_to(name, strlen(name));
    const char *flag =
        harness->options->command & (COMMAND_RECORD | COMMAND_OASIS | COMMAND_CAPACITY)
            ? "--strategy"
            : "--strategies";
    char meant[NEAREST_TEXT_SIZE];
    if (strategy && strategy->available)
        return strategy;
    for (size_t i = 0; i < harness->strategies_count; i++)
        nearest_offer(&nearest, harness->strategies[i].name);
    if (strategy)
        error_fail(error, "%s: %s is not available: %s", flag, name, strategy->unavailable_reason);
    else
        error_fail(error, "%s: the servers have no '%s'%s", flag, name,
                   nearest_text(&nearest, "", meant));
    return NULL;
}

static bool is_word(const struct option_list *wanted, const char *word)
{
    return wanted->count == 1 && strcmp(wanted->items[0], word) == 0;
}

bool harness_choose_all(const struct harness *harness, const struct option_list *wanted, bool first,
                        struct harness_chosen *out, struct error *error)
{
    bool usual = is_word(wanted, "usual"), named = !usual && !is_word(wanted, "all");
    out->count = 0;
    for (size_t i = 0; i < (named ? wanted->count : harness->strategies_count); i++) {
        const struct api_strategy *strategy =
            named ? harness_choose(harness, wanted->items[i], error) : &harness->strategies[i];
        if (!strategy)
            return false;
        if (usual && !strategy->usual)
            continue;
        if (strategy->available)
            out->items[out->count++] = strategy;
        else if (first)
            fprintf(stderr, "seckill-loadtest: left out: %s (%s)\n", strategy->name,
                    strategy->unavailable_reason);
    }
    return out->count > 0 || error_fail(error, "no strategy is available");
}

bool harness_may_reset(const struct harness *harness, int64_t products, struct error *error)
{
    const struct options *options = harness->options;
    int64_t first = options->first_product, last = first + products - 1;
    struct witness_state state;
    if (options->servers.count == 0 || options->reset)
        return true;
    if (!witness_look(harness->witness, first, last, &state, error))
        return false;
    return state.orders == 0 || error_fail(error,
                                           "products %" PRId64 " to %" PRId64 " have %" PRId64
                                           " orders: say --reset to wipe them out",
                                           first, last, state.orders);
}

struct phase_plan harness_plan(const struct harness *harness, const struct api_strategy *strategy,
                               int round)
{
    const struct options *options = harness->options;
    return (struct phase_plan){
        .scenario = options->scenario,
        .strategy = strategy,
        .body = strategy && strategy->has_bodies ? options->body : "",
        .wait_ms = options->wait_ms,
        .load = {.headers = options->headers,
                 .connections = options->connections,
                 .threads = options->threads,
                 .duration_s = options->duration_s,
                 .users = options->users,
                 .keyed = options->keyed,
                 .repeats = options->repeats,
                 .first_product = options->first_product,
                 .products = options->products,
                 .arrivals = {.kind = options->arrivals},
                 .lag_limit_us = options->max_lag_ms * 1000,
                 .seed = options->seed + INT64_C(1000) * round},
        .rate_per_s = options->rate_per_s,
        .stock = HARNESS_STOCK,
        .limit = options->limit,
        .round = round,
    };
}

void harness_keep(struct harness *harness, json_t *run)
{
    if (json_array_append_new(harness->runs, run) != 0)
        memory_need(NULL);
}

bool harness_measure(struct harness *harness, const struct phase_plan *plan, size_t all,
                     struct phase_result *out, struct error *error)
{
    size_t number = json_array_size(harness->runs) + 1;
    struct phase_plan detailed = *plan;
    struct load_detail *detail = memory_take(sizeof *detail);
    if (plan->kind != PHASE_TRUTH) /* which is not for its figures */
        detailed.load.detail = detail;
    if (plan->rate_per_s > 0)
        detailed.load.threads = 1;
    else
        wrk_shape(&detailed.load.connections, &detailed.load.threads,
                  (int64_t)fleet_targets_count(&harness->fleet));
    progress_next(&harness->progress, number, all, clock_mono_ms());
    bool made = phase_run(&harness->fleet, &detailed, out, error);
    harness->progress.oversold += out->audit.oversold;
    if (!process_interrupted())
        say_over(harness, out, number, all);
    harness_keep(harness, results_json_run(out));
    out->plan.load.detail = NULL;
    free(detail);
    return made;
}
