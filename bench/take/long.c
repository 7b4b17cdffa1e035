/*
 * A minute of `batch` on a table that has grown: ten million orders of another product, a
 * checkpoint in the middle, and the autovacuum that so many new rows call for.
 *
 * The figure is the minute's rate as a part of that of its first five seconds. The rows are made
 * once, by one INSERT after another in the database; what the minute saw of checkpoints and
 * autovacuum stands in the series' note.
 */
#include "bench/take/take.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 10000000, PIECE = 1000000, LONG_S = 60, FIRST_MS = 5000, CHECKPOINT_MS = 20000 };

/* Their ids are older than every later one, as those of older orders are. */
static bool fill(struct bench *bench, int64_t product, struct error *error)
{
    char sql[700], text[80];
    for (int from = 1; from <= ROWS; from += PIECE) {
        snprintf(text, sizeof text, "making %d million orders: %d", ROWS / 1000000, from / 1000000);
        bench_say(bench, text);
        snprintf(sql, sizeof sql,
                 "INSERT INTO {schema}.orders (id, product_id, epoch, user_id, quantity, strategy, "
                 "status,"
                 " created_at)"
                 " SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint << 16), 16, '0')"
                 " || lpad(to_hex(n), 16, '0'))::uuid, p.id, p.epoch,"
                 " n, 1, 'batch', 1, now()"
                 " FROM {schema}.product p, generate_series(%d::bigint, %d::bigint) n"
                 " WHERE p.id = %" PRId64,
                 from, from + PIECE - 1, product);
        if (process_interrupted())
            return error_fail(error, "interrupted");
        if (!bench_order(bench, sql, error))
            return false;
    }
    return true;
}

bool bench_clean_long(struct bench *bench, struct error *error)
{
    char sql[120];
    if (bench->crowd_product == 0)
        return true;
    snprintf(sql, sizeof sql, "DELETE FROM {schema}.orders WHERE product_id = %" PRId64,
             bench->crowd_product);
    return bench_order(bench, sql, error);
}

struct watching {
    struct bench *bench;
    int64_t before;    /* orders committed before the load */
    double first_rate; /* of the first seconds; 0: not known yet */
    bool checkpointed; /* was asked for */
};

static bool count_committed(struct bench *bench, int64_t *out, struct error *error)
{
    const struct fleet *fleet = &bench->harness.fleet;
    struct scrape scrape;
    if (!api_scrape(fleet->api, fleet->urls[0], "batch", "buy", &scrape, error))
        return false;
    *out = scrape.counts.committed;
    return true;
}

/* What cannot be had here is missed when the minute is over. */
static void watch(void *context, int64_t elapsed_ms)
{
    struct watching *watching = context;
    struct error ignored;
    int64_t now = 0;
    if (elapsed_ms >= FIRST_MS && watching->first_rate <= 0 &&
        count_committed(watching->bench, &now, &ignored))
        watching->first_rate = (double)(now - watching->before) * 1000 / (double)elapsed_ms;
    if (elapsed_ms >= CHECKPOINT_MS && !watching->checkpointed) {
        watching->checkpointed = true;
        (void)bench_order(watching->bench, "CHECKPOINT", &ignored);
    }
}

static bool look_at_database(struct bench *bench, char *checkpoint, size_t size, long *vacuums,
                             struct error *error)
{
    char text[40];
    bool good = bench_ask(bench, "SELECT checkpoint_lsn FROM pg_control_checkpoint()", checkpoint,
                          size, error) &&
                bench_ask(bench,
                          "SELECT sum(autovacuum_count) FROM pg_stat_user_tables"
                          " WHERE relname IN ('orders', 'product')",
                          text, sizeof text, error);
    *vacuums = good ? strtol(text, NULL, 10) : 0;
    return good;
}

bool bench_take_long(struct bench *bench, const struct bench_measure *measure,
                     struct bench_sample *sample, struct error *error)
{
    struct bench_series *series = bench_series_of(bench, measure);
    struct watching watching = {.bench = bench};
    struct phase_plan plan;
    struct phase_result result;
    char before[40], after[40];
    long vacuums = 0, vacuums_after = 0;
    if (!bench_use_instances(bench, 1, error))
        return false;
    if (!bench_plan(bench, measure, &plan))
        return true;
    plan.load.duration_s = LONG_S;
    plan.watch = watch;
    plan.watch_context = &watching;
    if (bench->crowd_product == 0 && (!bench_new_products(bench, 1, &bench->crowd_product, error) ||
                                      !fill(bench, bench->crowd_product, error)))
        return false;
    if (!look_at_database(bench, before, sizeof before, &vacuums, error) ||
        !count_committed(bench, &watching.before, error) ||
        !phase_run(&bench->harness.fleet, &plan, &result, error) ||
        !look_at_database(bench, after, sizeof after, &vacuums_after, error))
        return false;
    if (result.verdict != VERDICT_KEPT || watching.first_rate <= 0)
        snprintf(series->why, sizeof series->why, "%s: %s", verdict_name(result.verdict),
                 *result.error ? result.error : "no figure of its first seconds");
    sample->figures[FIGURE_RATE] = phase_committed_per_s(&result);
    sample->figures[FIGURE_SHARE] = sample->figures[FIGURE_RATE] / watching.first_rate;
    sample->limit = usage_limit(&result.load.usage);
    size_t used = strlen(series->note);
    snprintf(series->note + used, sizeof series->note - used,
             "%sround %d: %s checkpoint, %ld autovacuums ended", used ? "; " : "", bench->round,
             strcmp(before, after) != 0 ? "a" : "no", vacuums_after - vacuums);
    return true;
}
