/*
 * `sweep`: one setting through a list of values, for the figures behind the defaults.
 *
 * Every round takes every value in turn, with servers started anew, and every strategy under each;
 * so what changes on the machine meanwhile meets all of them. The table has medians, and marks what
 * cannot be told from the best. A value whose run was none, or whose promise was BROKEN, is shown
 * as that and decides the exit status (2, 1); a server that dies ends everything, and what was
 * found so far is still printed and written.
 */
#include "loadtest/commands/commands.h"

#include "loadtest/commands/session.h"
#include "loadtest/commands/sweep_plan.h"
#include "loadtest/fleet/delay.h"
#include "loadtest/report/files.h"
#include "loadtest/report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Stock that no duration sells out. */
static const int64_t SWEEP_STOCK = 1000000000;

struct swept {
    size_t value; /* its number in the plan */
    struct phase_result result;
};

struct sweep {
    struct options options; /* as given, with the value under test */
    struct sweep_plan plan;
    struct session session;
    struct delay *delays[2]; /* owned: --redis's and --stock-redis's */
    struct swept *runs;      /* owned */
    size_t count, room;
    size_t complete; /* of the runs: all but one that was interrupted */
};

/* Puts a delay before a Redis; *url becomes its address. */
static bool put_behind(struct delay **delay, const char **url, struct error *error)
{
    if (!**url)
        return true;
    *delay = delay_create(*url, error);
    if (*delay)
        *url = delay_url(*delay);
    return *delay != NULL;
}

static bool put_redis_behind(struct sweep *sweep, struct error *error)
{
    struct options *options = &sweep->options;
    if (!sweep->plan.delayed)
        return true;
    if (!*options->redis && !*options->stock_redis)
        return error_fail(error, "redis-delay-us needs --redis");
    return put_behind(&sweep->delays[0], &options->redis, error) &&
           put_behind(&sweep->delays[1], &options->stock_redis, error);
}

static bool begin(struct sweep *sweep, const struct options *given, struct error *error)
{
    sweep->options = *given;
    if (!sweep_plan_read(&sweep->plan, &sweep->options, error))
        return false;
    sweep->room = sweep->plan.count * given->strategies.count * (size_t)given->rounds;
    sweep->runs = calloc(sweep->room, sizeof *sweep->runs);
    if (!sweep->runs)
        return error_fail(error, "out of memory");
    return session_init(&sweep->session, &sweep->options, error) && put_redis_behind(sweep, error);
}

static void end(struct sweep *sweep)
{
    session_fini(&sweep->session);
    delay_destroy(sweep->delays[0]);
    delay_destroy(sweep->delays[1]);
    free(sweep->runs);
    free(sweep);
}

static bool run_strategy(struct sweep *sweep, size_t value, int round, const char *name,
                         struct error *error)
{
    const struct options *options = &sweep->options;
    const struct api_strategy *strategy = session_strategy(&sweep->session, name);
    if (!strategy || !strategy->available)
        return error_fail(error, "--strategies: %s: %s", name,
                          strategy ? strategy->unavailable_reason : "the servers have none");
    struct phase_plan plan = {
        .scenario = SCENARIO_HOT,
        .kind = PHASE_SPEED,
        .strategy = strategy,
        .body = strategy->plain || strategy->guarded ? options->body : "",
        .wait_ms = options->wait_ms,
        .connections = options->connections,
        .threads = options->threads,
        .duration_s = options->duration_s,
        .stock = SWEEP_STOCK,
        .first_product = options->first_product,
        .products = options->products,
        .seed = options->seed + INT64_C(1000) * round,
        .round = round,
    };
    if (plan.products > 1)
        plan.scenario = SCENARIO_SPREAD;
    wrk_shape(&plan.connections, &plan.threads, (int64_t)sweep->session.fleet.count);
    struct swept *run = &sweep->runs[sweep->count++];
    run->value = value;
    bool made = phase_run(&sweep->session.fleet, &plan, &run->result, error);
    if (!process_interrupted()) {
        sweep->complete = sweep->count;
        session_phase_over(&sweep->session, &run->result, sweep->count, sweep->room);
    }
    return made;
}

static bool run_value(struct sweep *sweep, size_t value, int round, struct error *error)
{
    struct options *options = &sweep->options;
    sweep_apply(options, sweep->plan.over, sweep->plan.values[value]);
    for (size_t i = 0; i < 2; i++) {
        if (sweep->delays[i])
            delay_set(sweep->delays[i], options->redis_delay_us);
    }
    if (!session_open_fleet(&sweep->session, options->instances[0], error))
        return false;
    for (size_t i = 0; i < options->strategies.count; i++) {
        if (!run_strategy(sweep, value, round, options->strategies.items[i], error))
            return false;
    }
    return session_close_fleet(&sweep->session, error);
}

static bool run_everything(struct sweep *sweep, struct error *error)
{
    for (int round = 1; round <= (int)sweep->options.rounds; round++) {
        for (size_t value = 0; value < sweep->plan.count; value++) {
            if (!run_value(sweep, value, round, error))
                return error_prefix(error, "%s=%" PRId64, sweep_dimension_name(sweep->plan.over),
                                    sweep->plan.values[value]);
        }
    }
    return true;
}

/* One strategy under one value, over the rounds. */
struct cell {
    double median, least, most; /* committed/s */
    double p50_ms, p99_ms, failed_per_s;
    size_t rounds;
    size_t runs; /* rounds, and those that could not be made; 0: interrupted before */
    enum verdict verdict;
    const char *error;
};

static bool is_of(const struct swept *run, const char *strategy, size_t value)
{
    return run->value == value && strcmp(run->result.plan.strategy->name, strategy) == 0;
}

static struct cell cell_of(const struct sweep *sweep, const char *strategy, size_t value)
{
    enum { ROUNDS_MAX = 100 };
    enum { RATE, P50, P99, FAILED, FIGURES };
    double figures[FIGURES][ROUNDS_MAX];
    struct cell cell = {.verdict = VERDICT_KEPT, .error = ""};
    for (size_t i = 0; i < sweep->count; i++) {
        const struct phase_result *run = &sweep->runs[i].result;
        if (!is_of(&sweep->runs[i], strategy, value))
            continue;
        cell.runs++;
        cell.verdict = verdict_merge(cell.verdict, run->verdict);
        if (*run->error) {
            cell.error = run->error;
            continue;
        }
        figures[RATE][cell.rounds] = phase_committed_per_s(run);
        figures[P50][cell.rounds] = (double)run->load.p50_us / 1000;
        figures[P99][cell.rounds] = (double)run->load.p99_us / 1000;
        figures[FAILED][cell.rounds] = phase_per_s(run, run->counts.failed + run->counts.unknown);
        cell.rounds++;
    }
    if (cell.rounds == 0)
        return cell;
    cell.median = table_median(figures[RATE], cell.rounds, NULL);
    cell.least = figures[RATE][0];
    cell.most = figures[RATE][cell.rounds - 1];
    cell.p50_ms = table_median(figures[P50], cell.rounds, NULL);
    cell.p99_ms = table_median(figures[P99], cell.rounds, NULL);
    cell.failed_per_s = table_median(figures[FAILED], cell.rounds, NULL);
    return cell;
}

/* "best", "= best" where the rounds of both overlap, else nothing. */
static const char *mark(const struct cell *cell, const struct cell *best)
{
    if (cell->rounds == 0 || cell->median >= best->median)
        return cell->rounds == 0 ? "" : "best";
    return cell->most >= best->least ? "= best" : "";
}

static void print_strategy(const struct sweep *sweep, const char *strategy,
                           struct verdict_tally *tally)
{
    struct cell best = {.median = 0};
    for (size_t i = 0; i < sweep->plan.count; i++) {
        struct cell cell = cell_of(sweep, strategy, i);
        best = cell.median > best.median ? cell : best;
    }
    for (size_t i = 0; i < sweep->plan.count; i++) {
        struct cell cell = cell_of(sweep, strategy, i);
        if (cell.runs == 0)
            continue;
        printf("%-18s %21" PRId64 " %9.0f %9.0f %9.0f %6.2f  %-6s %9.2f %9.2f %9.0f\n", strategy,
               sweep->plan.values[i], cell.median, cell.least, cell.most,
               best.median > 0 ? cell.median / best.median : 0, mark(&cell, &best), cell.p50_ms,
               cell.p99_ms, cell.failed_per_s);
        if (cell.verdict == VERDICT_BROKEN || cell.verdict == VERDICT_NO_RUN)
            printf("  ! %s %s\n", verdict_name(cell.verdict), cell.error);
        bool counts = cell.verdict == VERDICT_BROKEN || cell.verdict == VERDICT_NO_RUN;
        tally->counts[counts ? cell.verdict : VERDICT_KEPT]++;
    }
}

static bool write_csv(const struct sweep *sweep, struct error *error)
{
    FILE *file = files_create(sweep->session.folder, "sweep.csv", error);
    if (!file)
        return false;
    fputs("over,value,strategy,instances,connections,work_ms,redis_delay_us,round,requests_per_s,"
          "committed_per_s,refused,failed,unknown,latency_us_p50,latency_us_p90,latency_us_p99,"
          "latency_us_max,verdict\n",
          file);
    for (size_t i = 0; i < sweep->count; i++) {
        const struct phase_result *run = &sweep->runs[i].result;
        struct options options = sweep->options;
        sweep_apply(&options, sweep->plan.over, sweep->plan.values[sweep->runs[i].value]);
        fprintf(file, "%s,%" PRId64 ",%s,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%.1f,%.1f",
                sweep_dimension_name(sweep->plan.over), sweep->plan.values[sweep->runs[i].value],
                run->plan.strategy->name, run->instances, run->plan.connections,
                options.work_ms > 0 ? options.work_ms : 0, options.redis_delay_us, run->plan.round,
                phase_per_s(run, run->load.requests), phase_committed_per_s(run));
        fprintf(file,
                ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                ",\"%s\"\n",
                run->counts.refused, run->counts.failed, run->counts.unknown, run->load.p50_us,
                run->load.p90_us, run->load.p99_us, run->load.max_us, verdict_name(run->verdict));
    }
    return files_close(file, "sweep.csv", error);
}

static int report(const struct sweep *sweep)
{
    struct verdict_tally tally = {{0}};
    struct error error;
    char line[600];
    printf("\n%-18s %21s %9s %9s %9s %6s  %-6s %9s %9s %9s\n", "strategy",
           sweep_dimension_name(sweep->plan.over), "commit/s", "least", "most", "ratio", "",
           "p50 ms", "p99 ms", "failed/s");
    for (size_t i = 0; i < sweep->options.strategies.count; i++)
        print_strategy(sweep, sweep->options.strategies.items[i], &tally);
    machine_line(&sweep->session.machine, line, sizeof line);
    printf("\nMedians of %" PRId64 " round%s of %" PRId64
           " s, the values in turn. = best: its rounds and the best's overlap.\n%s\n",
           sweep->options.rounds, sweep->options.rounds == 1 ? "" : "s", sweep->options.duration_s,
           line);
    if (!write_csv(sweep, &error))
        return process_fail(error.text);
    printf("Files: %s/sweep.csv\n", sweep->session.folder);
    return verdict_exit_status(&tally);
}

int command_sweep(const struct options *options)
{
    struct error error = {.text = ""};
    struct sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return process_fail("out of memory");
    bool made = begin(sweep, options, &error) && run_everything(sweep, &error);
    if (sweep->session.fleet.progress)
        sweep->session.fleet.progress(NULL, "");
    if (process_interrupted())
        sweep->count = sweep->complete;
    int status = sweep->count > 0 ? report(sweep) : 2;
    if (!made) {
        process_fail(error.text);
        status = status == 1 ? 1 : 2;
    }
    end(sweep);
    return status;
}
