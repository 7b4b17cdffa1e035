/*
 * `bench`: how much of what PostgreSQL can commit reaches buyers over HTTP.
 *
 * pgbench does the same transactions on the same tables: first a short trial of each client count,
 * for its own best; then, round by round, both sides of each strategy in turn, each round beginning
 * with the other side. Exit status 0 when every ratio of medians reaches the target, 1 when one
 * misses it, 2 when the comparison could not be made.
 */
#include "loadtest/bench.h"

#include "loadtest/commands.h"
#include "loadtest/pgbench.h"
#include "loadtest/results.h"
#include "loadtest/session.h"
#include "loadtest/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const int64_t BENCH_STOCK = 1000000000;
enum { TRIAL_MAX_S = 2 };

const int bench_client_counts[BENCH_CLIENT_COUNTS] = {1, 2, 4, 8, 16};

struct bench {
    struct session session;
    char pgbench[300];
    struct bench_row rows[BENCH_STRATEGIES];
};

struct bench_span bench_span(const double *values, size_t count)
{
    double sorted[BENCH_ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    struct bench_span span = {.median = table_median(sorted, count, NULL)};
    span.least = sorted[0];
    span.most = sorted[count - 1];
    return span;
}

double bench_ratio(const struct bench_row *row)
{
    return bench_span(row->http, row->rounds).median / bench_span(row->pgbench, row->rounds).median;
}

static void say(void *context, const char *text)
{
    const struct fleet *fleet = context;
    if (fleet->progress)
        fleet->progress(fleet->progress_context, text);
}

/* pgbench has the product next to the one that is sold over HTTP; both begin anew before every
 * measurement, so that nobody's rows are being deleted while time is taken. */
static bool start_anew(struct bench *bench, struct problem *problem)
{
    const struct fleet *fleet = &bench->session.fleet;
    int64_t first = bench->session.options->first_product;
    return api_put_products(fleet->api, fleet->urls[0], first, 2, BENCH_STOCK, problem) &&
           phase_wait_clean(fleet, first, first + 1, problem);
}

static bool measure_pgbench(struct bench *bench, const char *strategy, int clients, int64_t seconds,
                            double *orders_per_s, struct problem *problem)
{
    char text[100];
    snprintf(text, sizeof text, "pgbench, %s, %d clients", strategy, clients);
    say(&bench->session.fleet, text);
    struct pgbench_load load = {
        .program = bench->pgbench,
        .conninfo = bench->session.options->database,
        .strategy = strategy,
        .folder = bench->session.folder,
        .product = bench->session.options->first_product + 1,
        .clients = clients,
        .duration_s = seconds,
    };
    return start_anew(bench, problem) &&
           pgbench_run(&load, bench->session.witness, orders_per_s, problem);
}

static bool measure_http(struct bench *bench, const char *strategy, int round, double *orders_per_s,
                         struct problem *problem)
{
    const struct options *options = bench->session.options;
    struct phase_plan plan = {
        .scenario = SCENARIO_HOT,
        .kind = PHASE_SPEED,
        .strategy = session_strategy(&bench->session, strategy),
        .body = "",
        .wait_ms = -1,
        .connections = options->connections,
        .threads = options->threads,
        .duration_s = options->duration_s,
        .stock = BENCH_STOCK,
        .first_product = options->first_product,
        .products = 1,
        .seed = options->seed + INT64_C(1000) * round,
        .round = round,
    };
    if (!plan.strategy)
        return problem_set(problem, "the server has no strategy %s", strategy);
    wrk_shape(&plan.connections, &plan.threads, 1);
    struct phase_result result;
    if (!start_anew(bench, problem) || !phase_run(&bench->session.fleet, &plan, &result, problem))
        return false;
    if (result.verdict != VERDICT_KEPT)
        return problem_set(problem, "%s over HTTP: %s %s", strategy, verdict_name(result.verdict),
                           result.error);
    *orders_per_s = phase_committed_per_s(&result);
    return true;
}

/* Two passes over the client counts, the better figure of each: one disturbed trial must not
 * choose. */
static bool find_best_clients(struct bench *bench, struct bench_row *row, struct problem *problem)
{
    int64_t seconds = bench->session.options->duration_s;
    seconds = seconds < TRIAL_MAX_S ? seconds : TRIAL_MAX_S;
    for (size_t i = 0; i < 2 * (size_t)BENCH_CLIENT_COUNTS; i++) {
        size_t which = i % BENCH_CLIENT_COUNTS;
        double figure = 0;
        if (!measure_pgbench(bench, row->strategy, bench_client_counts[which], seconds, &figure,
                             problem))
            return false;
        row->trial[which] = figure > row->trial[which] ? figure : row->trial[which];
    }
    size_t best = 0;
    for (size_t i = 1; i < BENCH_CLIENT_COUNTS; i++)
        best = row->trial[i] > row->trial[best] ? i : best;
    row->clients = bench_client_counts[best];
    return true;
}

static bool run_round(struct bench *bench, struct bench_row *row, int round,
                      struct problem *problem)
{
    const int64_t seconds = bench->session.options->duration_s;
    for (int side = 0; side < 2; side++) {
        bool http = (round + side) % 2 == 1;
        bool made =
            http ? measure_http(bench, row->strategy, round, &row->http[row->rounds], problem)
                 : measure_pgbench(bench, row->strategy, row->clients, seconds,
                                   &row->pgbench[row->rounds], problem);
        if (!made)
            return false;
    }
    row->rounds++;
    return true;
}

static bool run_everything(struct bench *bench, struct problem *problem)
{
    static const char *const names[BENCH_STRATEGIES] = {"pessimistic", "optimistic", "conditional"};
    if (!session_open_fleet(&bench->session, 1, problem))
        return false;
    for (size_t i = 0; i < BENCH_STRATEGIES; i++) {
        bench->rows[i].strategy = names[i];
        if (!find_best_clients(bench, &bench->rows[i], problem))
            return false;
    }
    for (int round = 1; round <= (int)bench->session.options->rounds; round++) {
        for (size_t i = 0; i < BENCH_STRATEGIES; i++) {
            if (!run_round(bench, &bench->rows[i], round, problem))
                return false;
        }
    }
    /* What pgbench wrote is nobody's order. */
    return start_anew(bench, problem) && session_close_fleet(&bench->session, problem);
}

static bool print_rows(const struct bench *bench)
{
    bool met = true;
    printf("%-12s %22s %9s %22s %7s %7s  %s\n", "strategy", "HTTP orders/s", "clients",
           "pgbench orders/s", "ratio", "target", "");
    for (size_t i = 0; i < BENCH_STRATEGIES; i++) {
        const struct bench_row *row = &bench->rows[i];
        struct bench_span http = bench_span(row->http, row->rounds);
        struct bench_span pgbench = bench_span(row->pgbench, row->rounds);
        char left[48], right[48];
        snprintf(left, sizeof left, "%.0f (%.0f..%.0f)", http.median, http.least, http.most);
        snprintf(right, sizeof right, "%.0f (%.0f..%.0f)", pgbench.median, pgbench.least,
                 pgbench.most);
        bool row_met = bench_ratio(row) >= BENCH_TARGET;
        printf("%-12s %22s %9d %22s %7.2f %7.2f  %s\n", row->strategy, left, row->clients, right,
               bench_ratio(row), BENCH_TARGET, row_met ? "met" : "MISSED");
        met = met && row_met;
    }
    return met;
}

static int report(const struct bench *bench)
{
    const struct session *session = &bench->session;
    const struct options *options = session->options;
    char line[600];
    struct problem problem;
    machine_line(&session->machine, line, sizeof line);
    printf("\n%" PRId64 " connections, %" PRId64 " rounds of %" PRId64
           " s; medians (least..most)\n\n",
           options->connections, options->rounds, options->duration_s);
    bool met = print_rows(bench);
    printf(
        "\nAn order writes one row in orders and one update of the product's row, committed with "
        "synchronous_commit on.\nclients: the count out of 1, 2, 4, 8 and 16 at which pgbench "
        "alone was fastest.\n%s\n",
        line);
    if (!bench_write_json(session->folder, bench->rows, BENCH_STRATEGIES, options,
                          &session->machine, &problem))
        return problem_exit(problem.text);
    printf("Files: %s/bench.json\n", session->folder);
    return met ? 0 : 1;
}

int command_bench(struct options *options)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct problem problem = {""};
    if (!bench)
        return problem_exit("out of memory");
    bool made = pgbench_find(bench->pgbench, sizeof bench->pgbench, &problem) &&
                session_init(&bench->session, options, &problem) && run_everything(bench, &problem);
    say(&bench->session.fleet, "");
    int status = made ? report(bench) : problem_exit(problem.text);
    session_fini(&bench->session);
    free(bench);
    return status;
}
