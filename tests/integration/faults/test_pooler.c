/*
 * PostgreSQL behind PgBouncer in transaction mode, which gives each transaction another server
 * session and takes none back to what it was.
 *
 * With whatever version is installed: one that keeps named prepared statements apart is sold
 * through, one that does not is refused; and in no case does anything stay behind in a session that
 * somebody else uses next.
 */
#include "lib/fixtures/shop.h"
#include "lib/pgbouncer.h"
#include "lib/postgres.h"
#include "lib/stack.h"

#include "lib/t.h"

#include "base/clock.h"
#include "lib/witness.h"
#include "postgres/pg.h"

#include <stdlib.h>
#include <string.h>

#define DATABASE "seckill_pooler"

/* What PgBouncer itself keeps apart. */
#define TRACKED                                                                                    \
    "('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'IntervalStyle',"            \
    " 'standard_conforming_strings')"

enum { POOL = 3, STOCK = 15, BUYERS = 40, UNITS = 2, LIMIT = 2 };

static const char *const strategies[] = {"conditional",  "pessimistic",   "optimistic",
                                         "serializable", "advisory-lock", "buckets",
                                         "batch",        "redis-uuid"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static struct {
    char *conninfo; /* owned: of PostgreSQL itself */
    char *through;  /* owned */
    struct witness *witness;
    struct pgbouncer *bouncer;
} here;

static int set_up(void **state)
{
    (void)state;
    here.conninfo = stack_database_create(DATABASE);
    here.witness = witness_open(here.conninfo);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    witness_close(here.witness);
    stack_database_drop(DATABASE);
    free(here.conninfo);
    return 0;
}

static void start_bouncer(int pool, bool names)
{
    char *folder = stack_socket_folder();

    here.bouncer = pgbouncer_start(folder, pool, names);
    here.through = stack_database_through(here.conninfo, pgbouncer_folder(here.bouncer));
    free(folder);
}

static int stop(void **state)
{
    int result = server_teardown(state);

    pgbouncer_stop(here.bouncer);
    here.bouncer = NULL;
    free(here.through);
    here.through = NULL;
    return result;
}

/* Others have each session of the pool in turn, and find it as PostgreSQL made it. */
static void expect_clean(int pool)
{
    struct witness *others[POOL];

    assert_true(pool <= POOL);
    for (int i = 0; i < pool; i++) {
        others[i] = witness_open(here.through);
        witness_run(others[i], "BEGIN");
        assert_int_equal(witness_number(others[i],
                                        "SELECT count(*) FROM pg_settings WHERE source = 'session'"
                                        " AND name NOT IN " TRACKED),
                         0);
        assert_int_equal(witness_number(others[i], "SELECT count(*) FROM pg_prepared_statements"
                                                   " WHERE name NOT LIKE 'PGBOUNCER%%'"),
                         0);
        assert_int_equal(witness_number(others[i], "SELECT count(*) FROM pg_locks"
                                                   " WHERE locktype = 'advisory'"),
                         0);
    }
    for (int i = 0; i < pool; i++)
        witness_close(others[i]);
}

static void expect_refused(struct server *server)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};
    char detail[256] = "";

    /* A first try that was out of time has another reason. */
    while (!strstr(detail, "named prepared statements") ||
           !strstr(detail, "max_prepared_statements")) {
        if (clock_mono_us() >= until_us)
            fail_msg("\"%s\"", detail);
        struct http_reply reply = server_call(server, "GET", "/readyz", NULL, NULL);
        assert_int_equal(reply.status, 503);
        http_reply_text(&reply, "backends.0.detail", detail, sizeof detail);
        http_reply_fini(&reply);
    }
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
}

TEST(without_names_it_is_refused)
{
    start_bouncer(1, false);
    struct server *server = server_start("--database", here.through);
    expect_refused(server);
    expect_clean(1);
    if (pgbouncer_can_keep_names()) {
        pgbouncer_keep_names(here.bouncer, true);
        server_wait_ready(server, 200, NULL);
        expect_clean(1);
    }
    server_stop(server);
}

static void buy_many(struct server *server, const char *strategy, int64_t product,
                     const char *more_of_product)
{
    struct crowd *crowd = crowd_create();
    char keys[BUYERS][16];

    shop_put(server, product, (int64_t)STOCK * UNITS, more_of_product);
    for (int i = 0; i < BUYERS; i++) {
        snprintf(keys[i], sizeof keys[i], "key-%d", i);
        struct buy buy = {.strategy = strategy,
                          .key = i % 2 ? keys[i] : NULL,
                          .more = "&wait_ms=30000",
                          .product = product,
                          .user = product * BUYERS + i,
                          .quantity = UNITS};
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    crowd_finish(crowd, t_patience_us());
    int sold = crowd_count(crowd, 201, "");
    if (sold == 0 ||
        sold + crowd_count(crowd, 409, "sold_out") + crowd_count(crowd, 409, "cas_exhausted") !=
            BUYERS)
        fail_msg("%s: %s", strategy, crowd_summary(crowd));
    crowd_destroy(crowd);
    struct sale sale = witness_sale(here.witness, product);
    assert_int_equal(sale.orders, sold);
    shop_expect_consistent(server, product);
}

TEST(many_sessions_sell_through_few)
{
    if (!pgbouncer_can_keep_names())
        skip();
    start_bouncer(POOL, true);
    struct server *server = server_start("--database", here.through, "--pg-sessions", "16");
    for (int i = 0; i < STRATEGIES; i++) {
        buy_many(server, strategies[i], 10 + 2 * i, NULL);
        witness_expect_exact(here.witness, 10 + 2 * i);
        buy_many(server, strategies[i], 11 + 2 * i, ", \"limit_per_user\": 2");
    }
    expect_clean(POOL);
    server_stop(server);
}

/* A wait for a row ends when the order's time is over, though no session was told for how long. */
TEST(a_wait_for_a_row_ends)
{
    struct buy buy = {.strategy = "pessimistic", .more = "&wait_ms=300", .product = 1, .user = 1};

    if (!pgbouncer_can_keep_names())
        skip();
    start_bouncer(1, true);
    struct server *server = server_start("--database", here.through);
    shop_put(server, 1, STOCK, NULL);
    struct witness *holder = witness_hold(here.conninfo, 1);
    shop_expect_wait_timeout(server, &buy);
    buy.strategy = "conditional";
    shop_expect_wait_timeout(server, &buy);
    expect_clean(1);
    witness_release(holder);
    buy.more = NULL;
    shop_expect_buy(server, &buy, 201, "", NULL);
    server_stop(server);
}

static void set_for_role(const char *setting)
{
    witness_run(here.witness, "ALTER ROLE seckill IN DATABASE " DATABASE " %s", setting);
}

static int forget_role(void **state)
{
    set_for_role("RESET ALL");
    return stop(state);
}

static bool has_the_row(void)
{
    return witness_number(here.witness,
                          "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in "
                          "transaction' AND query LIKE '%%FOR UPDATE%%' AND datname = "
                          "current_database()") > 0;
}

/* An order, frozen at work; false: it was done before that. */
static bool freeze_at_work(struct server *server, int64_t user)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = {.strategy = "pessimistic", .product = 1, .user = user};

    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    while (!has_the_row() && !crowd_wait(crowd, 1, clock_mono_us()))
        ;
    server_pause(server);
    witness_send(here.witness, "UPDATE product SET name = 'free' WHERE id = 1");
    witness_await(here.witness, clock_mono_us() + t_patience_us());
    server_resume(server);
    crowd_finish(crowd, t_patience_us());
    bool frozen = crowd_count(crowd, 201, "") == 0;
    crowd_destroy(crowd);
    return frozen;
}

/* A frozen server does not keep its row. */
TEST(a_stopped_client_loses_its_row)
{
    int64_t user = 1;

    if (!pgbouncer_can_keep_names())
        skip();
    start_bouncer(1, true);
    struct server *server =
        server_start("--database", here.through, "--work-ms", "1000", "--work-timeout-ms", "1500");
    shop_put(server, 1, STOCK, NULL);
    T_UNTIL(freeze_at_work(server, user++));
    witness_expect_exact(here.witness, 1);
    expect_clean(1);
    server_stop(server);
}

static int64_t soon(void)
{
    return clock_mono_us() + t_patience_us();
}

/* A session of this test's own, and a product of one unit. */
static struct pg *open_session(struct store **store)
{
    struct error error = {ERROR_NONE, ""};

    start_bouncer(1, true);
    *store = store_create(here.through, (struct store_limits){60000, 60000, 0},
                          (struct store_schema){.name = "seckill"}, &error);
    struct pg *pg = pg_create(*store);
    assert_true(store_prepare(*store, pg, soon(), soon(), &error) && pg_connect(pg, soon()));
    witness_run(here.witness,
                "INSERT INTO product (id, initial_stock, stock, epoch, version)"
                " VALUES (1, 1, 1, 1, 1) ON CONFLICT (id) DO UPDATE SET epoch = 1, stock = 1");
    return pg;
}

static int stop_own(void **state)
{
    return stop(state) | postgres_teardown(state);
}

/* PgBouncer hands on to what stands at its address: a standby may be behind. */
TEST_WITH(no_order_is_read_from_a_standby, NULL, stop_own)
{
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};
    char id[SHOP_ID_SIZE], order[64];

    if (!pgbouncer_can_keep_names())
        skip();
    struct postgres *own = postgres_create(NULL);
    here.bouncer = pgbouncer_start(postgres_folder(own), POOL, true);
    here.through =
        stack_database_through(postgres_conninfo(own, NULL, NULL), pgbouncer_folder(here.bouncer));
    struct server *server = server_start("--database", here.through);
    shop_put(server, buy.product, STOCK, NULL);
    shop_expect_buy(server, &buy, 201, "", id);
    snprintf(order, sizeof order, "/orders/%s", id);
    postgres_demote(own);
    postgres_stop(own);
    postgres_start(own);
    T_UNTIL(server_status(server, "GET", "/products/1", NULL, NULL) == 200);
    shop_expect(server, "GET", order, NULL, NULL, 503, "backend_unavailable");
    shop_expect(server, "GET", "/orders?product_id=1", NULL, NULL, 503, "backend_unavailable");
    postgres_promote(own);
    T_UNTIL(server_status(server, "GET", order, NULL, NULL) == 200);
    server_stop(server);
}

/* A name that PostgreSQL has refused, or never saw because the statement before it failed. */
TEST(names_outlast_a_failure)
{
    struct store *store = NULL;
    const struct pg_value bad[] = {pg_int8(1), pg_int8(1), pg_int8(-1)};
    struct pg_command set = {SQL_STOCK_SET, bad, 3};

    if (!pgbouncer_can_keep_names())
        skip();
    struct pg *pg = open_session(&store);
    for (int i = 0; i < 3; i++) {
        pg_begin(pg);
        assert_int_equal(pg_exec_commit(pg, &set, 1, soon()), PG_BUG);
        pg_rollback(pg, soon());
        assert_true(pg_is_open(pg));
    }
    pg_destroy(pg);
    store_destroy(store);
}

TEST_WITH(what_is_set_for_the_role_does_not_count, NULL, forget_role)
{
    struct store *store = NULL;
    const struct pg_value product = pg_int8(1);

    if (!pgbouncer_can_keep_names())
        skip();
    set_for_role("SET default_transaction_isolation = 'repeatable read'");
    set_for_role("SET statement_timeout = '200ms'");
    struct pg *pg = open_session(&store);
    pg_begin(pg);
    assert_int_equal(pg_exec(pg, SQL_PRODUCT_READ, &product, 1, soon()), PG_OK);
    assert_int_equal(pg_get_int8(pg, 0, 0), 1);
    witness_run(here.witness, "UPDATE product SET stock = 7 WHERE id = 1");
    assert_int_equal(pg_exec(pg, SQL_PRODUCT_READ, &product, 1, soon()), PG_OK);
    assert_int_equal(pg_get_int8(pg, 0, 0), 7);
    struct witness *holder = witness_hold(here.conninfo, 1);
    pg_lock_until(pg, clock_mono_us() + 500000, 500); /* longer than what the role has */
    assert_int_equal(pg_exec(pg, SQL_PRODUCT_LOCK, &product, 1, soon()), PG_BUSY);
    pg_rollback(pg, soon());
    pg_lock_until(pg, clock_mono_us() + 500000, 500);
    assert_int_equal(pg_exec(pg, SQL_PRODUCT_LOCK, &product, 1, soon()), PG_BUSY);
    witness_release(holder);
    pg_destroy(pg);
    store_destroy(store);
}

TEST_EACH(NULL, stop)

int main(void)
{
    pgbouncer_need();
    return t_run_all(set_up, tear_down);
}
