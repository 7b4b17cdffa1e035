/*
 * seckill-bench: how close the server comes to what the machine can do. The measurements that the
 * rows asked for need, round by round, and what follows.
 *
 * First pgbench's best client count, in a short trial. Then every round makes each measurement
 * once, every other round in the opposite order, so that what changes on the machine meanwhile
 * meets both sides of a ratio. Rows that are within noise, or from which the host took the cores
 * away, then get more rounds. Exit status 0 when every row reaches its bound (what is not installed
 * is left out), 1 when one misses it, 2 when one could not be measured.
 */
#include "bench/report.h"
#include "bench/take/take.h"
#include "bench/tools/pgbench.h"
#include "bench/tools/steal.h"
#include "loadtest/engine/client.h"
#include "loadtest/judge/connect.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_CONNECTIONS = 10000,
    LOG_FILE_MIB = 16,
    LOG_MIB_PER_S = 32, /* what `batch` writes at 70,000 orders/s, and some */
    LOG_FILES_MAX = 128,
    BRIEF_MS = 225000, /* the short form measures for under four minutes */
    TAKES_MAX = 3,
    PROBE_MS = 500,
    PROBE_AGAIN_MS = 2000
};

static bool start_ceiling(struct bench *bench, struct error *error)
{
    if (bench_has_ceiling(bench))
        return !bench->series[MEASURE_E].wanted ||
               bench_start_ceiling(bench, &bench->ceiling, "ceiling", error);
    bench_leave_out(&bench->series[MEASURE_E],
                    "there is no seckill-bench-server beside the server");
    bench_leave_out(&bench->series[MEASURE_IDLE], "there is no seckill-bench-server to be held");
    return true;
}

static bool start_nginx(struct bench *bench, struct error *error)
{
    char program[300];
    if (!bench->series[MEASURE_NGINX].wanted)
        return true;
    if (!nginx_find(program, sizeof program)) {
        bench_leave_out(&bench->series[MEASURE_NGINX],
                        "nginx is not installed (Debian's package is nginx-light)");
        return true;
    }
    return nginx_start(&bench->nginx, program, bench->harness.folder, error);
}

static void choose_rows(struct bench_report *report, struct bench *bench)
{
    for (size_t i = 0; i < bench_rows_count && report->count < BENCH_ROWS_MAX; i++) {
        const struct bench_row *row = &bench_rows[i];
        if (!bench_row_wanted(row, bench->options))
            continue;
        report->rows[report->count++] = row;
        bench->series[row->of.measure].wanted = true;
        bench->series[row->against.measure].wanted = true;
    }
}

static int64_t log_files_wanted(const struct bench *bench)
{
    const struct options *options = bench->harness.options;
    int64_t seconds = 0;
    for (size_t i = 1; i < BENCH_MEASURES; i++)
        if (bench->series[i].wanted)
            seconds += (options->rounds + bench->options->more_rounds) * options->duration_s;
    int64_t files = seconds * LOG_MIB_PER_S / LOG_FILE_MIB;
    return files < LOG_FILES_MAX ? files : LOG_FILES_MAX;
}

/* PostgreSQL fills each file of its log with zeros before the first use, in the backend that needs
 * it, and later uses old ones again. A database that has run for a while has those; a new one
 * would be measured making them. So they are made first: the log goes on to the next file so
 * often, and a checkpoint makes the old ones the next ones. */
static void make_log_files(struct bench *bench)
{
    static const char *const steps[] = {"SELECT pg_logical_emit_message(true, 'seckill', '')",
                                        "SELECT pg_switch_wal()"};
    int64_t wanted = log_files_wanted(bench);
    struct error error;
    bench_say(bench, "making files for PostgreSQL's log");
    for (int64_t i = 0; i < wanted && !process_interrupted(); i++) {
        if (!bench_order(bench, steps[0], &error) || !bench_order(bench, steps[1], &error))
            return;
    }
    bench->log_files = bench_order(bench, "CHECKPOINT", &error);
}

/* A table that holds orders of somebody else is left alone: the division by zero ends the one
 * transaction that these statements are. */
static bool empty_orders(const struct bench *bench)
{
    char sql[400];
    struct error error;
    snprintf(sql, sizeof sql,
             "SET LOCAL lock_timeout = '5s'; LOCK TABLE {schema}.orders;"
             " SELECT 1 / (NOT EXISTS (SELECT FROM {schema}.orders WHERE product_id < %" PRId64
             " OR product_id >= %" PRId64 "))::int; TRUNCATE {schema}.orders",
             bench->harness.options->first_product, bench->next_product);
    return bench_order(bench, sql, &error);
}

/* Where the role may not, there are no figures, and that is no fault. */
static bool set_commits(struct bench *bench, size_t which)
{
    struct error error;
    if (bench_set_commits(bench, &bench_measures[which], &error))
        return true;
    bench_leave_out(&bench->series[which], error.text);
    return false;
}

static bool start_standby(struct bench *bench, struct error *error)
{
    bool wanted = false;
    for (size_t i = 1; i < BENCH_MEASURES; i++)
        wanted = wanted || (bench->series[i].wanted && bench_measures[i].waits);
    return !wanted || !*bench->options->standby || bench_start_standby(bench, error);
}

static bool try_all_clients(struct bench *bench, struct error *error)
{
    bool found = pgbench_find(bench->pgbench, sizeof bench->pgbench, error);
    for (size_t i = 1; i < BENCH_MEASURES; i++) {
        struct bench_series *series = &bench->series[i];
        if (!series->wanted || bench_measures[i].kind != BENCH_PGBENCH)
            continue;
        if (!found)
            bench_leave_out(series, error->text);
        else if (set_commits(bench, i) && !bench_try_clients(bench, &bench_measures[i], error))
            return false;
    }
    return true;
}

static bool is_brief(const struct bench *bench)
{
    return !bench->options->full && bench->options->rows.count == 0;
}

static bool may_wait(const struct bench *bench)
{
    return !is_brief(bench) && bench->waited_ms < bench->options->max_wait_s * 1000;
}

/* Steal comes and goes over tens of seconds, so it is worth waiting. */
static void await_calm(struct bench *bench, enum bench_steal allowed)
{
    bool calm = false;
    while (!calm && may_wait(bench) && !process_interrupted()) {
        int64_t begun_ms = clock_mono_ms();
        bench_say(bench, "waiting for a host that takes the cores away");
        calm = bench_steal_grade(steal_probe(PROBE_MS), bench->options->max_steal) <= allowed;
        if (!calm)
            (void)process_sleep_ms(PROBE_AGAIN_MS);
        bench->waited_ms += clock_mono_ms() - begun_ms;
    }
}

static bench_take *const kinds[] = {
    [BENCH_CEILING] = bench_take_answers,   [BENCH_NGINX] = bench_take_answers,
    [BENCH_HTTP] = bench_take_http,         [BENCH_PGBENCH] = bench_take_pgbench,
    [BENCH_OVERLOAD] = bench_take_overload, [BENCH_IDLE] = bench_take_idle,
    [BENCH_LONG] = bench_take_long,
};

static bool take_sample(struct bench *bench, size_t which, struct bench_sample *sample,
                        struct error *error)
{
    struct steal before, after;
    char text[100];
    snprintf(text, sizeof text, "%s, round %d", bench_measures[which].name, bench->round);
    bench_say(bench, text);
    *sample = (struct bench_sample){.round = bench->round};
    /* It begins where every other one did: on a table of orders that is empty, and for which no
     * autovacuum is due. Else each figure stands on the rows of those before it. */
    if (!bench->crowd_product && !empty_orders(bench))
        bench->orders_grew = true;
    if (!set_commits(bench, which))
        return true;
    steal_look(&before);
    if (!kinds[bench_measures[which].kind](bench, &bench_measures[which], sample, error))
        return error_prefix(error, "%s", bench_measures[which].name);
    steal_look(&after);
    bench_mark_stolen(&bench->series[which], sample, steal_share(&before, &after),
                      bench->options->max_steal);
    return true;
}

/* Where the host took too much of the time, a measurement is made again at once, whatever its
 * figures were, as long as there is patience left for the host; the calmest counts. */
static bool take_one(struct bench *bench, size_t which, struct error *error)
{
    struct bench_series *series = &bench->series[which];
    struct bench_sample sample;
    if (!series->wanted || *series->why)
        return true;
    int64_t begun_ms = clock_mono_ms();
    if (!take_sample(bench, which, &sample, error))
        return false;
    enum bench_steal allowed = bench_steal_allowed(series->again_calm);
    int takes = 1;
    for (; sample.steal > allowed && takes < TAKES_MAX && may_wait(bench) && !*series->why;
         takes++) {
        struct bench_sample next;
        await_calm(bench, allowed);
        if (!take_sample(bench, which, &next, error))
            return false;
        if (next.stolen < sample.stolen)
            sample = next;
    }
    sample.takes = takes;
    if (!*series->why)
        series->samples[series->count++] = sample;
    series->took_ms += clock_mono_ms() - begun_ms;
    return true;
}

static bool take_round(struct bench *bench, bool last, bool again, struct error *error)
{
    for (size_t i = 1; i < BENCH_MEASURES; i++) {
        size_t which = bench->round % 2 ? i : BENCH_MEASURES - i;
        if (bench_measures[which].last == last && (!again || bench->series[which].again) &&
            !take_one(bench, which, error))
            return false;
    }
    return true;
}

static bool take_rounds(struct bench *bench, bool last, struct error *error)
{
    for (bench->round = 1; bench->round <= (int)bench->harness.options->rounds; bench->round++)
        if (!take_round(bench, last, false, error))
            return false;
    return true;
}

/* The short form ends within its minutes; in the full form more rounds take no longer than those
 * before them, however bad the hour. A user who names rows has the time. */
static int64_t more_rounds_end_ms(const struct bench *bench)
{
    if (is_brief(bench))
        return bench->begun_ms + BRIEF_MS;
    int64_t now_ms = clock_mono_ms();
    return bench->options->rows.count ? INT64_MAX : now_ms + (now_ms - bench->begun_ms);
}

/* What comes last comes once: the others begin with an empty table. */
static bool take_more_rounds(struct bench_report *report, struct bench *bench, struct error *error)
{
    const struct options *options = bench->harness.options;
    int64_t until_ms = more_rounds_end_ms(bench);
    int end = bench->round + (int)bench->options->more_rounds;
    for (; bench->round < end; bench->round++) {
        if (!bench_choose_again(report->rows, report->count, bench->series, options->rounds,
                                clock_mono_ms(), until_ms))
            break;
        if (!take_round(bench, false, true, error))
            return false;
    }
    return true;
}

/* The sales are over in any case; rows that are neither truncated nor deleted in time go when the
 * next server runs for a while, and the figures stand. */
static void clean(struct bench *bench)
{
    const struct fleet *fleet = &bench->harness.fleet;
    int64_t first = bench->harness.options->first_product;
    int64_t count = bench->next_product - first;
    struct error error;
    if (fleet->count == 0 || count == 0)
        return;
    bench_say(bench, "deleting what was sold");
    if ((!empty_orders(bench) && !bench_clean_long(bench, &error)) ||
        !api_put_products(fleet->api, fleet->urls[0],
                          &(struct api_sale){.first = first, .count = count}, &error) ||
        !phase_wait_clean(fleet, first, first + count - 1, &error))
        fprintf(stderr, "seckill-loadtest: not everything that was sold is deleted yet: %s\n",
                error.text);
}

static bool make(struct bench *bench, struct bench_report *report, struct error *error)
{
    choose_rows(report, bench);
    struct error ignored;
    (void)client_allow(MOST_CONNECTIONS, &ignored); /* what then fails says so */
    make_log_files(bench);
    return start_standby(bench, error) && bench_use_instances(bench, 1, error) &&
           start_ceiling(bench, error) && start_nginx(bench, error) &&
           try_all_clients(bench, error) && take_rounds(bench, false, error) &&
           take_more_rounds(report, bench, error) && take_rounds(bench, true, error);
}

static int tell(struct bench_report *report)
{
    struct error error;
    for (size_t i = 0; i < report->count; i++)
        bench_judge(report->rows[i], report->bench->series, &report->judgements[i]);
    bench_print(stdout, report);
    if (!bench_write_json(report, &error) || !bench_write_csv(report, &error))
        return process_fail(error.text);
    printf("Files: %s/bench.json, %s/bench.csv\n", report->bench->harness.folder,
           report->bench->harness.folder);
    return bench_exit_status(report->judgements, report->count);
}

static void stop_points_of_reference(struct bench *bench)
{
    struct error ignored;
    nginx_stop(&bench->nginx);
    (void)instance_stop_all(&bench->ceiling, 1, &ignored);
}

/* All of it: measures, prints, writes the files. The exit status. */
static int run(const struct bench_options *options)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct error error = {.text = ""}, ignored;
    if (!bench)
        return process_fail("out of memory");
    struct bench_report report = {.bench = bench};
    bench->begun_ms = clock_mono_ms();
    bench->options = options;
    bench->next_product = options->base.first_product;
    (void)getloadavg(&bench->load_average, 1);
    bool begun =
        bench_rows_exist(options, &error) &&
        harness_init(&bench->harness, &options->base, &error) &&
        (bench->database = connect_open(options->base.database, "seckill-bench", &error)) != NULL;
    bool made = begun && make(bench, &report, &error);
    if (made)
        clean(bench);
    made = made && harness_close_fleet(&bench->harness, &error);
    if (bench->database && !bench_set_commits(bench, NULL, &ignored))
        fprintf(stderr, "seckill-bench: the role still has its settings: %s\n", ignored.text);
    bench_say(bench, "");
    int status = begun && !process_interrupted() ? tell(&report) : 2;
    if (!made) {
        process_fail(error.text);
        status = status == 1 ? 1 : 2; /* what was missed was missed, whatever came then */
    }
    stop_points_of_reference(bench);
    way_close(&bench->link);
    harness_fini(&bench->harness);
    PQfinish(bench->database);
    free(bench);
    return status;
}

int main(int argc, char **argv)
{
    static struct bench_options options;
    enum options_action action;
    struct error error;
    if (!bench_options_parse(&options, &action, argc, argv, getenv, &error))
        return process_fail(error.text);
    if (action == OPTIONS_HELP) {
        bench_options_print_help(stdout);
        return 0;
    }
    if (action == OPTIONS_VERSION) {
        puts("seckill-bench " SECKILL_VERSION);
        return 0;
    }
    process_catch_signals();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int status = run(&options);
    process_end_all();
    curl_global_cleanup();
    return process_interrupted() && status == 0 ? 2 : status;
}
