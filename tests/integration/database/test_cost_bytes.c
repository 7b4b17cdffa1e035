/*
 * The bytes that are counted are the bytes on the wire: those that a proxy between a session and
 * PostgreSQL passes on, and those that Redis says it has read and written.
 */
#include "lib/pg_proxy.h"
#include "lib/redis/redis_probe.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"
#include "metrics/cost.h"
#include "postgres/pg.h"
#include "redis/redis.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE_US INT64_C(30000000)

static struct measured {
    struct pg_proxy *proxy;
    char *conninfo; /* owned */
    char *through;  /* owned */
    struct store *store;
    struct pg *pg;
    int64_t before;
} measured;

static int64_t soon(void)
{
    return clock_mono_us() + PATIENCE_US;
}

static int set_up(void **state)
{
    (void)state;
    struct error error = {ERROR_NONE, ""};
    char *folder = stack_socket_folder();

    measured.conninfo = stack_database_create("seckill_cost_bytes");
    measured.proxy = pg_proxy_create(folder);
    measured.through = stack_database_through(measured.conninfo, pg_proxy_folder(measured.proxy));
    measured.store = store_create(measured.through, (struct store_limits){60000, 60000, 0},
                                  (struct store_schema){.name = "seckill"}, &error);
    assert_non_null(measured.store);
    measured.pg = pg_create(measured.store);
    assert_true(store_prepare(measured.store, measured.pg, soon(), soon(), &error));
    assert_true(pg_connect(measured.pg, soon()));
    free(folder);
    cost_take(COST_POSTGRESQL);
    measured.before = pg_proxy_bytes(measured.proxy);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pg_destroy(measured.pg);
    store_destroy(measured.store);
    pg_proxy_destroy(measured.proxy);
    stack_database_drop("seckill_cost_bytes");
    free(measured.conninfo);
    free(measured.through);
    return 0;
}

/* Since the last time: that many statements, in that many bundles, and the bytes on the wire. */
static void expect(uint64_t statements, uint64_t round_trips, uint64_t flushes)
{
    struct cost cost = cost_take(COST_POSTGRESQL);
    int64_t now = pg_proxy_bytes(measured.proxy);

    assert_int_equal(cost.of[COST_STATEMENTS], statements);
    assert_int_equal(cost.of[COST_ROUND_TRIPS], round_trips);
    assert_int_equal(cost.of[COST_FLUSHES], flushes);
    assert_int_equal(cost.of[COST_BYTES], now - measured.before);
    measured.before = now;
}

/* It answers with no rows, so that one which fails has had none described either. */
static enum pg_status insert(const struct uuid *id, const char *key)
{
    return pg_exec(measured.pg, SQL_ORDER_INSERT_KEYED,
                   PG_ARGS(pg_uuid(id), pg_int8(7), pg_int8(1), pg_int8(42), pg_int8(1),
                           pg_text("none"), pg_time(0), pg_text(key), pg_time_or_null(false, 0)),
                   soon());
}

TEST(statements_are_counted_as_they_are_sent)
{
    struct uuid id = {{1}};
    struct uuid other = {{2}};

    /* The first time it is prepared as well, the second time not. */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pg_exec(measured.pg, SQL_PRODUCT_READ, PG_ARGS(pg_int8(7)), soon()),
                         PG_OK);
        expect(1, 1, 0);
    }
    assert_int_equal(insert(&id, "a"), PG_OK);
    expect(1, 1, 1);
    assert_int_equal(pg_exec(measured.pg, SQL_ORDER_STATUS, PG_ARGS(pg_uuid(&id)), soon()), PG_OK);
    assert_int_equal(pg_rows(measured.pg), 1);
    expect(1, 1, 0);
    assert_int_equal(insert(&id, "b"), PG_UNIQUE);
    expect(1, 1, 0);

    pg_begin(measured.pg);
    assert_int_equal(insert(&other, "c"), PG_OK);
    assert_int_equal(pg_commit(measured.pg, soon()), PG_OK);
    expect(3, 2, 1);
    pg_begin(measured.pg);
    assert_int_equal(pg_exec(measured.pg, SQL_PRODUCT_LOCK, PG_ARGS(pg_int8(7)), soon()), PG_OK);
    pg_rollback(measured.pg, soon());
    expect(3, 2, 0);
    /* Nothing matched, so nothing is to be flushed. */
    pg_begin(measured.pg);
    assert_int_equal(pg_exec(measured.pg, SQL_PRODUCT_LOCK, PG_ARGS(pg_int8(7)), soon()), PG_OK);
    assert_int_equal(pg_commit(measured.pg, soon()), PG_OK);
    expect(3, 2, 0);
}

TEST(rows_and_arrays_are_counted)
{
    static const int64_t users[] = {42, 42, 43};
    static const char *const keys[] = {"a", NULL, "a longer key"};

    assert_int_equal(
        pg_exec(measured.pg, SQL_ORDERS_PAGE,
                PG_ARGS(pg_uuid(&(struct uuid){{0}}), pg_int8(100), pg_int8_or_null(false, 0)),
                soon()),
        PG_OK);
    assert_int_equal(pg_exec(measured.pg, SQL_BATCH_KEYS,
                             PG_ARGS(pg_int8s(users, 3), pg_texts(keys, 3)), soon()),
                     PG_OK);
    expect(2, 2, 0);
}

/* A number of INFO stats. */
static int64_t redis_stat(const char *name)
{
    static char text[16384];

    redis_probe(text, sizeof text, "INFO stats");
    const char *at = strstr(text, name);
    assert_non_null(at);
    return atoll(at + strlen(name) + 1);
}

TEST_WITH(redis_has_read_and_written_what_is_counted, NULL, NULL)
{
    struct error error = {ERROR_NONE, ""};
    struct redis_server *redis_server = redis_server_create(stack_redis(), "", &error);
    struct redis *redis = redis_create(redis_server);
    struct redis_answer answer;

    assert_true(redis_connect(redis, soon()));
    cost_take(COST_REDIS);
    /* What asking costs by itself. */
    int64_t first = redis_stat("total_net_input_bytes");
    int64_t asking = redis_stat("total_net_input_bytes") - first;
    int64_t before = redis_stat("total_net_input_bytes");
    for (int i = 0; i < 3; i++)
        assert_int_equal(redis_ask(redis, 1, (const char *const[]){"PING"}, soon(), &answer),
                         REDIS_OK);
    assert_int_equal(
        redis_ask(redis, 2, (const char *const[]){"ECHO", "0123456789"}, soon(), &answer),
        REDIS_OK);
    int64_t sent = redis_stat("total_net_input_bytes") - before - asking;
    int64_t received = 3 * (int64_t)strlen("+PONG\r\n") + (int64_t)strlen("$10\r\n0123456789\r\n");
    struct cost cost = cost_take(COST_REDIS);
    assert_int_equal(cost.of[COST_STATEMENTS], 4);
    assert_int_equal(cost.of[COST_ROUND_TRIPS], 4);
    assert_int_equal(cost.of[COST_BYTES], sent + received);
    redis_destroy(redis);
    redis_server_destroy(redis_server);
}

TEST_GROUP(NULL, stack_restore)
TEST_EACH(set_up, tear_down)
