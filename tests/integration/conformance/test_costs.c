/*
 * What an order costs: the counters in /metrics against the columns of docs/STRATEGIES.md and its
 * further pages.
 *
 * Orders are sent one after the other, so each is a batch of its own, and what is counted must be
 * the documented figure, times the orders. A row that has changed here has changed there.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "lib/stack.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS_SENT = 4, MISSES_MAX = 3 };

enum figure {
    ORDERS,
    ROUND_TRIPS,
    STATEMENTS,
    FLUSHES,
    REDIS_ROUND_TRIPS,
    REDIS_FLUSHES,
    BYTES,
    REDIS_BYTES,
    FIGURES
};
static const struct {
    const char *family;
    const char *store;
} names[FIGURES] = {
    [ORDERS] = {"seckill_cost_orders_total", NULL},
    [ROUND_TRIPS] = {"seckill_cost_round_trips_total", "postgresql"},
    [STATEMENTS] = {"seckill_cost_statements_total", "postgresql"},
    [FLUSHES] = {"seckill_cost_flushes_total", "postgresql"},
    [REDIS_ROUND_TRIPS] = {"seckill_cost_round_trips_total", "redis"},
    [REDIS_FLUSHES] = {"seckill_cost_flushes_total", "redis"},
    [BYTES] = {"seckill_cost_bytes_total", "postgresql"},
    [REDIS_BYTES] = {"seckill_cost_bytes_total", "redis"},
};

/* One order's, with nobody else there. */
struct cost_row {
    const char *strategy;
    const char *ended;
    int64_t round_trips;
    int64_t statements;
    int64_t flushes;
    int64_t redis_round_trips;
    int64_t redis_flushes;
    bool first_costs_more; /* a product's first order does something for those after it */
    const char *body;
    const char *limit; /* of the product */
    bool keyed;
    bool may_miss; /* a node that is late by a fifth of a second makes it another figure */
};

#define LIMIT ", \"limit_per_user\": 1000"

static struct cost_row rows[] = {
    /* cmocka hands them to the tests as void * */
    {"none", "committed", 2, 4, 1, .limit = NULL},
    {"none", "refused", 2, 3, 0, .limit = NULL},
    {"none", "committed", 4, 6, 1, .limit = LIMIT},
    {"none", "committed", 4, 5, 1, .keyed = true},
    {"local-lock", "committed", 2, 4, 1, .limit = NULL},
    {"local-lock", "refused", 2, 3, 0, .limit = NULL},
    {"pessimistic", "committed", 2, 4, 1, .limit = NULL},
    {"pessimistic", "refused", 2, 3, 0, .limit = NULL},
    {"pessimistic", "committed", 4, 6, 1, .limit = LIMIT},
    {"pessimistic", "committed", 4, 5, 1, .keyed = true},
    {"optimistic", "committed", 2, 2, 1, .limit = NULL},
    {"optimistic", "committed", 4, 6, 1, .limit = LIMIT},
    {"optimistic", "committed", 4, 5, 1, .keyed = true},
    {"optimistic", "refused", 1, 1, 0, .limit = NULL},
    {"conditional", "committed", 1, 1, 1, .first_costs_more = true},
    {"conditional", "refused", 2, 2, 0, .first_costs_more = true},
    {"conditional", "committed", 3, 5, 1, .limit = LIMIT},
    {"conditional", "committed", 3, 4, 1, .keyed = true},
    {"pipelined", "committed", 1, 1, 1, .first_costs_more = true},
    {"pipelined", "refused", 2, 2, 0, .first_costs_more = true},
    {"pipelined", "committed", 3, 5, 1, .limit = LIMIT},
    {"pipelined", "committed", 3, 4, 1, .keyed = true},
    {"serializable", "committed", 3, 5, 1, .limit = NULL},
    {"serializable", "refused", 2, 3, 0, .limit = NULL},
    {"advisory-lock", "committed", 3, 5, 1, .limit = NULL},
    {"advisory-lock", "refused", 3, 4, 0, .limit = NULL},
    {"advisory-lock", "committed", 3, 5, 1, .body = "guarded"},
    {"lock-row", "committed", 4, 6, 3, .limit = NULL},
    {"lock-row", "refused", 4, 5, 2, .limit = NULL},
    {"buckets", "committed", 1, 1, 1, .first_costs_more = true},
    {"buckets", "refused", 2, 2, 0, .first_costs_more = true},
    {"batch", "committed", 1, 1, 1, .first_costs_more = true},
    {"batch", "refused", 1, 1, 0, .first_costs_more = true},
    {"batch", "committed", 4, 7, 1, .limit = LIMIT},
    {"batch", "committed", 4, 6, 1, .keyed = true},
    {"redis-setnx", "committed", 2, 4, 1, 3, .limit = NULL},
    {"redis-getset", "committed", 2, 4, 1, 2, .limit = NULL},
    {"redis-expiry", "committed", 2, 4, 1, 2, .limit = NULL},
    {"redis-uuid", "committed", 2, 4, 1, 3, .limit = NULL},
    {"redis-token", "committed", 2, 4, 1, 2, .limit = NULL},
    {"redis-token", "refused", 2, 3, 0, 2, .limit = NULL},
    {"redis-reentrant", "committed", 3, 5, 1, 4, .limit = NULL},
    {"redis-watchdog", "committed", 2, 4, 1, 2, .limit = NULL},
    {"redis-fenced", "committed", 3, 5, 2, 2, .limit = NULL},
    {"redlock", "committed", 2, 4, 1, 6, .may_miss = true},
    {"wllock", "committed", 2, 4, 1, 2, .limit = NULL},
    {"redis-queue", "committed", 2, 2, 2, 2, .limit = NULL},
    {"redis-queue", "refused", 1, 1, 0, 2, .first_costs_more = true},
    {"memcached-lock", "committed", 2, 4, 1, .limit = NULL},
    {"zookeeper-lock", "committed", 2, 4, 1, .limit = NULL},
    {"redis-stock", "accepted", 0, 0, 0, 1, 1, .first_costs_more = true},
    {"redis-stock", "committed", 1, 1, 1, 1, 1, .first_costs_more = true},
    {"redis-stock", "committed", 4, 7, 1, 1, 1, .limit = LIMIT, .first_costs_more = true},
    {"partitioned-queue", "accepted", 1, 1, 1, .first_costs_more = true},
    {"partitioned-queue", "committed", 5, 6, 1, .limit = NULL},
    {"partitioned-queue", "refused", 4, 5, 1, .limit = NULL},
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct {
    char *conninfo; /* owned */
    struct server *server;
    struct witness *witness;
} here;

static bool is_of(const char *line, const struct cost_row *row, int figure)
{
    char start[160];

    if (names[figure].store)
        snprintf(start, sizeof start, "%s{strategy=\"%s\",ended=\"%s\",store=\"%s\"} ",
                 names[figure].family, row->strategy, row->ended, names[figure].store);
    else
        snprintf(start, sizeof start, "%s{strategy=\"%s\",ended=\"%s\"} ", names[figure].family,
                 row->strategy, row->ended);
    return strncmp(line, start, strlen(start)) == 0;
}

static void read_figures(const struct cost_row *row, int64_t out[FIGURES])
{
    struct http_reply reply = server_call(here.server, "GET", "/metrics", NULL, NULL);

    memset(out, 0, FIGURES * sizeof *out);
    for (char *line = strtok(reply.body, "\n"); line; line = strtok(NULL, "\n"))
        for (int figure = 0; figure < FIGURES; figure++)
            if (is_of(line, row, figure))
                out[figure] = atoll(strrchr(line, ' '));
    http_reply_fini(&reply);
}

static void buy(const struct cost_row *row, int64_t product, int i)
{
    bool refused = strcmp(row->ended, "refused") == 0;
    char key[32];
    struct buy buy = {.strategy = row->strategy,
                      .body = row->body,
                      .product = product,
                      .user = product * 1000 + i,
                      .key = row->keyed ? key : NULL};

    snprintf(key, sizeof key, "key-%d", i);
    shop_expect_buy(here.server, &buy, refused ? 409 : 201, refused ? "sold_out" : "", NULL);
}

static bool are_equal(const int64_t got[FIGURES], const int64_t expected[FIGURES])
{
    return memcmp(got, expected, BYTES * sizeof *got) == 0;
}

static bool are_as_many(const int64_t got[FIGURES], const int64_t expected[FIGURES])
{
    for (int figure = 0; figure < BYTES; figure++)
        if (got[figure] < expected[figure])
            return false;
    return true;
}

/* Releasing a lock, and the writer behind a 202, come to an end after the answer: waits until the
 * figures are as they should be. */
static bool wait_figures(const struct cost_row *row, const int64_t expected[FIGURES],
                         bool (*are_so)(const int64_t *, const int64_t *), int64_t got[FIGURES])
{
    int64_t until_us = clock_mono_us() + SERVER_PATIENCE_US / 4;

    for (;;) {
        read_figures(row, got);
        if (are_so(got, expected))
            return true;
        if (clock_mono_us() >= until_us)
            return false;
    }
}

/* What the order is to add to `figures`. */
static void add_one(const struct cost_row *row, int64_t figures[FIGURES])
{
    figures[ORDERS]++;
    figures[ROUND_TRIPS] += row->round_trips;
    figures[STATEMENTS] += row->statements;
    figures[FLUSHES] += row->flushes;
    figures[REDIS_ROUND_TRIPS] += row->redis_round_trips;
    figures[REDIS_FLUSHES] += row->redis_flushes;
}

static void print_difference(int order, const int64_t expected[FIGURES], const int64_t got[FIGURES])
{
    for (int figure = 0; figure < BYTES; figure++)
        if (got[figure] != expected[figure])
            print_error("order %d: %s %s: %+lld\n", order, names[figure].family,
                        names[figure].store ? names[figure].store : "",
                        (long long)(got[figure] - expected[figure]));
}

static void an_order_costs_what_is_written(void **state)
{
    const struct cost_row *row = *state;
    int64_t product = row - rows + 1;
    int64_t expected[FIGURES];
    int64_t got[FIGURES];

    if (!cases_is_available(here.server, row->strategy))
        skip();
    shop_put(here.server, product, strcmp(row->ended, "refused") == 0 ? 0 : 1000, row->limit);
    read_figures(row, expected);
    if (row->first_costs_more) {
        add_one(row, expected);
        buy(row, product, 0);
        assert_true(wait_figures(row, expected, are_as_many, got));
        memcpy(expected, got, sizeof expected);
    }
    for (int i = 1, misses = 0; i <= ORDERS_SENT + misses; i++) {
        add_one(row, expected);
        buy(row, product, i);
        if (wait_figures(row, expected, are_equal, got))
            continue;
        print_difference(i, expected, got);
        /* A figure that is wrong is wrong each time. */
        if (!row->may_miss || ++misses > MISSES_MAX)
            fail_msg("it costs something else");
        memcpy(expected, got, sizeof expected);
    }
    assert_int_equal(got[BYTES] > expected[BYTES], row->round_trips > 0);
    assert_int_equal(got[REDIS_BYTES] > expected[REDIS_BYTES], row->redis_round_trips > 0);
}

static int64_t syncs(void)
{
    return witness_number(here.witness, "SELECT wal_sync FROM pg_stat_wal");
}

/* PostgreSQL counts too, for the whole server and a second late, which is why there are fewer sales
 * than refusals: had the refusals flushed, it would show by then. Its WAL writer flushes what their
 * row locks wrote, five times a second. */
static void postgresql_has_flushed_as_often(void **state)
{
    enum { REFUSED = 100, SOLD = 10, WAL_WRITER_US = 200000 };
    static const struct cost_row refusal = {.strategy = "pessimistic", .ended = "refused"};
    static const struct cost_row sale = {.strategy = "pessimistic", .ended = "committed"};

    (void)state;
    shop_put(here.server, ROWS + 1, 0, NULL);
    shop_put(here.server, ROWS + 2, SOLD, NULL);
    int64_t begun_us = clock_mono_us();
    int64_t before = syncs();
    for (int i = 0; i < REFUSED; i++)
        buy(&refusal, ROWS + 1, i);
    for (int i = 0; i < SOLD; i++)
        buy(&sale, ROWS + 2, i);
    T_UNTIL(syncs() - before >= SOLD);
    int64_t flushed = syncs() - before;
    assert_true(flushed - (clock_mono_us() - begun_us) / WAL_WRITER_US < REFUSED);
}

static int set_up(void **state)
{
    (void)state;
    here.conninfo = stack_database_create("seckill_costs");
    server_use_database(here.conninfo);
#ifdef SECKILL_FAILPOINTS
    /* For each order of redis-stock's a look at the lease is due, which is not the order's. */
    server_use_failpoints("stock-writer-read=pause:600@1+");
#endif
    here.server = server_start("--flush", "own", NULL);
    server_use_failpoints(NULL);
    here.witness = witness_open(here.conninfo);
    return 0;
}

static int tear_down(void **state)
{
    witness_close(here.witness);
    server_stop(here.server);
    server_teardown(state);
    stack_database_drop("seckill_costs");
    free(here.conninfo);
    return 0;
}

int conformance_costs(void)
{
    static struct CMUnitTest tests[ROWS + 1];
    static char titles[ROWS][96];
    size_t count = 0;

    for (int i = 0; i < ROWS; i++) {
        if (!cases_is_chosen(rows[i].strategy))
            continue;
        snprintf(titles[i], sizeof titles[i], "an_order_costs_what_is_written: %s%s%s%s, %s",
                 rows[i].strategy, rows[i].body ? " guarded" : "", rows[i].limit ? " limited" : "",
                 rows[i].keyed ? " keyed" : "", rows[i].ended);
        tests[count++] = (struct CMUnitTest){.name = titles[i],
                                             .test_func = an_order_costs_what_is_written,
                                             .initial_state = &rows[i]};
    }
    if (cases_is_chosen("pessimistic"))
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(postgresql_has_flushed_as_often);
    if (count == 0) {
        printf("notice: no row of test_costs.c says what an order costs here\n");
        return 0;
    }
    return t_run("costs", tests, count, set_up, tear_down);
}
