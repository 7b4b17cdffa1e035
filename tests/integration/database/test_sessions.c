/*
 * Sessions with PostgreSQL set what they rely on, whatever is set for their role, and look for the
 * tables where they were found.
 */
#include "lib/fixtures/shop.h"
#include "lib/pg_proxy.h"
#include "lib/postgres.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char *conninfo;      /* owned; a fresh database for each test */
    char superuser[512]; /* the same database as somebody whom the role's settings do not concern */
    struct witness *witness; /* the superuser's */
} here;

static int fresh_database(void **state)
{
    (void)state;
    witness_close(here.witness);
    free(here.conninfo);
    here.conninfo = stack_database_create("seckill_sessions");
    snprintf(here.superuser, sizeof here.superuser, "%s user=postgres", here.conninfo);
    here.witness = witness_open(here.superuser);
    server_use_database(here.conninfo);
    return 0;
}

/* For sessions that are opened from now on, in this database alone. */
static void set_for_role(const char *name, const char *value)
{
    witness_run(here.witness, "ALTER ROLE seckill IN DATABASE seckill_sessions SET %s = %s", name,
                value);
}

static void wait_some(const char *sql)
{
    int64_t since_us = clock_mono_us();

    while (witness_number(here.witness, "%s", sql) == 0)
        t_wait(since_us, "none: %s", sql);
}

/* An order waits for its row as long as its own time says, and sessions stay. */
TEST(role_has_timeouts)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1, .more = "&wait_ms=60000"};

    /* Long enough for a busy machine to log in: a new session has it until it has set its own. */
    set_for_role("lock_timeout", "'200ms'");
    set_for_role("idle_session_timeout", "'2s'");
    if (witness_number(here.witness,
                       "SELECT count(*) FROM pg_settings WHERE name = 'transaction_timeout'") == 1)
        set_for_role("transaction_timeout", "'200ms'");
    struct server *server = server_start("--work-timeout-ms", "9000");
    shop_put(server, 1, 1, NULL);
    wait_some("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
              " AND usename = 'seckill' AND state = 'idle'"
              " AND clock_timestamp() - state_change > interval '3 seconds'");
    struct witness *holder = witness_hold(here.superuser, 1); /* whom no timeout ends */
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    wait_some("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
              " AND wait_event_type = 'Lock'"
              " AND clock_timestamp() - query_start > interval '400 milliseconds'");
    witness_release(holder);
    crowd_finish(crowd, t_patience_us());
    assert_int_equal(crowd_count(crowd, 201, ""), 1);
    crowd_destroy(crowd);
    server_stop(server);
}

static int count_in_log(const struct server *server, const char *text)
{
    FILE *log = t_open(server_log_path(server));
    char line[1024];
    int count = 0;

    while (fgets(line, sizeof line, log))
        count += strstr(line, text) != NULL;
    fclose(log);
    return count;
}

/* With redis-stock's writer there are four besides the workers. */
TEST(more_sessions_than_were_asked_for_are_told)
{
    static const char *const most[] = {"5", "4"};
    static const char warning[] = "--pg-sessions 4: other threads than workers have 4, so up to 5";

    for (int i = 0; i < 2; i++) {
        struct server *server = server_start("--pg-sessions", most[i], "--amqp", "");
        struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};

        shop_put(server, 1, 1, NULL);
        shop_expect_buy(server, &buy, 201, "", NULL);
        assert_int_equal(count_in_log(server, warning), i);
        server_stop(server);
    }
}

/* Only one warning says that a commit is no commit; most have the same code. */
TEST(a_warning_of_something_else)
{
    struct server *server = server_start(NULL);
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};

    shop_put(server, 1, 2, NULL);
    witness_run(here.witness, "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS"
                              " 'BEGIN PERFORM pg_cancel_backend(1); RETURN NULL; END'"
                              " SECURITY DEFINER");
    witness_run(here.witness,
                "CREATE TRIGGER warn BEFORE INSERT ON orders EXECUTE FUNCTION warn()");
    shop_expect_buy(server, &buy, 201, "", NULL);
    assert_int_equal(witness_sale(here.witness, 1).orders, 1);
    server_stop(server);
}

/* What a client sends is what is stored. */
TEST(role_has_an_encoding)
{
    set_for_role("client_encoding", "'LATIN1'");
    struct server *server = server_start(NULL);
    shop_put(server, 1, 1, ", \"name\": \"\u96ea\"");
    assert_int_equal(witness_number(here.witness, "SELECT octet_length(name) FROM product"), 3);
    server_stop(server);
}

static int64_t count_tables(const char *schema)
{
    return witness_number(here.witness, "SELECT count(*) FROM pg_tables WHERE schemaname = '%s'",
                          schema);
}

/* The tables are in public, where earlier versions made them, and the default search_path begins
 * with a schema named like the role. One that appears later is nobody's, neither a new session's
 * nor a new server's: a table alone makes it no schema of ours. */
TEST(schema_appears)
{
    server_stop(server_start("--schema", "public"));
    struct server *first = server_start(NULL);

    shop_put(first, 1, 10, NULL);
    witness_run(here.witness, "CREATE SCHEMA seckill AUTHORIZATION seckill");
    witness_run(here.witness, "CREATE TABLE seckill.product (LIKE public.product INCLUDING ALL)");
    witness_run(here.witness, "ALTER TABLE seckill.product OWNER TO seckill");
    witness_run(here.witness,
                "INSERT INTO seckill.product (id, initial_stock, stock, epoch, version)"
                " SELECT id, initial_stock, stock, epoch, version FROM public.product");
    witness_run(here.witness, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                              " WHERE datname = current_database() AND usename = 'seckill'");
    struct server *second = server_start(NULL);
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};
    shop_expect_buy_soon(first, &buy, 201);
    buy.user = 2;
    shop_expect_buy(second, &buy, 201, "", NULL);
    assert_int_equal(witness_number(here.witness, "SELECT stock FROM public.product"), 8);
    assert_int_equal(count_tables("seckill"), 1);
    server_stop(first);
    server_stop(second);
}

static void make_role_of_few_sessions(char *conninfo, size_t size, int limit)
{
    witness_run(here.witness, "DROP ROLE IF EXISTS seckill_few");
    witness_run(here.witness, "CREATE ROLE seckill_few LOGIN CONNECTION LIMIT %d", limit);
    witness_run(here.witness, "CREATE SCHEMA seckill AUTHORIZATION seckill_few");
    snprintf(conninfo, size, "%s user=seckill_few", here.conninfo);
}

/* PostgreSQL allows fewer sessions than the server would open: those that there are do it all. */
TEST(role_has_few_sessions)
{
    enum { LIMIT = 5, ORDERS = 240 };
    static const char *const strategies[] = {"none", "conditional", "pessimistic"};
    char conninfo[512];

    make_role_of_few_sessions(conninfo, sizeof conninfo, LIMIT);
    struct server *server = server_start("--database", conninfo, "--work-ms", "2", "--amqp", "");
    struct crowd *crowd = crowd_create();
    shop_put(server, 1, 10000, NULL);
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = {
            .strategy = strategies[i % 3], .product = 1, .user = 1 + i, .more = "&wait_ms=60000"};
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    for (int answered = 1; answered <= ORDERS; answered += ORDERS / 12) {
        assert_true(crowd_wait(crowd, answered, clock_mono_us() + t_patience_us()));
        assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 200);
    }
    crowd_finish(crowd, t_patience_us());
    if (crowd_count(crowd, 201, "") != ORDERS)
        fail_msg("%s", crowd_summary(crowd));
    /* The workers have every session now; who reads a product is made room for. */
    assert_int_equal(server_status(server, "GET", "/products/1", NULL, NULL), 200);
    /* One may just have been closed to make room for another. */
    assert_in_range(witness_number(here.witness, "SELECT count(*) FROM pg_stat_activity"
                                                 " WHERE usename = 'seckill_few'"),
                    LIMIT - 1, LIMIT);
    assert_int_equal(count_in_log(server, "allows this server no more sessions"), 1);
    assert_int_equal(count_in_log(server, "too many connections"), 1);
    crowd_destroy(crowd);
    server_stop(server);
    witness_run(here.witness, "DROP OWNED BY seckill_few");
    witness_run(here.witness, "DROP ROLE seckill_few");
}

#define SNAPSHOT_AGE "seckill_postgresql_snapshot_seconds"

static void expect_age(struct server *server, int64_t least_us)
{
    int64_t since_us = clock_mono_us();

    for (int64_t age_us; (age_us = server_metric_us(server, SNAPSHOT_AGE, "")) < least_us;)
        t_wait(since_us, "a snapshot is kept, and said to be %lld us old", (long long)age_us);
}

/* By the same number, seen again and again: when it was taken is hidden from the server's role. */
TEST(an_old_snapshot_shows)
{
    struct server *server = server_start(NULL);
    struct witness *holder = witness_open(here.superuser);
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};

    shop_put(server, 1, 10, NULL);
    wait_some("SELECT (count(*) = 0)::int FROM retired"); /* what it leaves to be deleted is */
    witness_run(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_int_equal(witness_number(holder, "SELECT stock FROM product WHERE id = 1"), 10);
    /* As long as nobody writes, in all of the cluster, it keeps nothing. */
    int64_t oldest =
        witness_number(holder, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint");
    clock_sleep_until(clock_mono_us() + 2 * CLOCK_US_PER_S);
    int64_t age_us = server_metric_us(server, SNAPSHOT_AGE, "");
    if (witness_number(here.witness,
                       "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint") == oldest)
        assert_int_equal(age_us, 0);
    shop_expect_buy(server, &buy, 201, "", NULL);
    expect_age(server, 2 * CLOCK_US_PER_S);
    witness_run(holder, "COMMIT");
    server_wait_metric(server, SNAPSHOT_AGE, "", 0);
    witness_close(holder);
    server_stop(server);
}

/* It has no session any more, and is in nobody's list of them. */
TEST_WITH(a_prepared_transaction_shows, NULL, server_teardown)
{
    struct postgres *postgres =
        postgres_create((const char *const[]){"max_prepared_transactions", "2", NULL});
    struct witness *holder = witness_open(postgres_conninfo(postgres, NULL, NULL));
    struct server *server = server_start("--database", postgres_conninfo(postgres, NULL, NULL));
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};

    shop_put(server, 1, 10, NULL);
    witness_run(holder, "BEGIN");
    witness_number(holder, "SELECT pg_current_xact_id()::text::bigint");
    witness_run(holder, "PREPARE TRANSACTION 'forgotten'");
    shop_expect_buy(server, &buy, 201, "", NULL);
    expect_age(server, CLOCK_US_PER_S);
    witness_run(holder, "ROLLBACK PREPARED 'forgotten'");
    server_wait_metric(server, SNAPSHOT_AGE, "", 0);
    witness_close(holder);
    server_stop(server);
}

/* A session may take as long to open as its order may wait. */
TEST(slow_connect_is_waited_for)
{
    enum { SLOW_US = 2500000 }; /* more than it would get at least */
    char *folder = stack_socket_folder();
    struct pg_proxy *proxy = pg_proxy_create(folder);
    char *through = stack_database_through(here.conninfo, pg_proxy_folder(proxy));
    struct crowd *crowd = crowd_create();
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1, .more = "&wait_ms=60000"};

    struct server *server = server_start("--database", through);
    shop_put(server, 1, 1, NULL);
    pg_proxy_arm(proxy, "SELECT count(set_config(", PG_FAULT_HOLD);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    pg_proxy_wait_fault(proxy);
    clock_sleep_until(clock_mono_us() + SLOW_US);
    pg_proxy_release(proxy);
    crowd_finish(crowd, t_patience_us());
    if (crowd_count(crowd, 201, "") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    server_stop(server);
    pg_proxy_destroy(proxy);
    free(through);
    free(folder);
}

TEST_EACH(fresh_database, server_teardown)

int main(void)
{
    int failed = t_run_all(NULL, NULL);

    witness_close(here.witness);
    stack_database_drop("seckill_sessions");
    free(here.conninfo);
    return failed != 0;
}
