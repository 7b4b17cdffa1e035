/*
 * The first contact with PostgreSQL stalls: between login and the schema's statements, or before
 * the lock under which instances make the schema. A start waits five seconds for it, no longer; the
 * server goes on trying by itself, and a SIGTERM ends it meanwhile.
 */
#include "lib/t.h"
#include "lib/fixtures/shop.h"
#include "lib/pg_proxy.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char *conninfo; /* owned; a fresh database for each test */
    char *folder;   /* owned; of PostgreSQL's socket */
    struct witness *witness;
} here;

static int fresh_database(void **state)
{
    (void)state;
    witness_close(here.witness);
    free(here.conninfo);
    here.conninfo = stack_database_create("seckill_first_contact");
    here.witness = witness_open(here.conninfo);
    server_use_database(here.conninfo);
    return 0;
}

static void expect_order(struct server *server)
{
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};

    shop_put(server, 1, 1, NULL);
    shop_expect_buy(server, &buy, 201, "", NULL);
}

/* The start's session is never answered; the next one is. */
TEST(schema_statements_stall)
{
    struct pg_proxy *proxy = pg_proxy_create(here.folder);
    char *through = stack_database_through(here.conninfo, pg_proxy_folder(proxy));

    pg_proxy_arm(proxy, "seckill_schema", PG_FAULT_HOLD);
    struct server *server = server_start("--database", through);
    pg_proxy_wait_fault(proxy);
    server_wait_ready(server, 200, NULL);
    expect_order(server);
    server_stop(server);
    pg_proxy_destroy(proxy);
    free(through);
}

/* Until that many attempts have had no answer in time. */
static void wait_given_up(const struct server *server, int attempts)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    char line[4096];

    for (int count = 0; count < attempts; clock_sleep_until(clock_mono_us() + 10000)) {
        FILE *log = t_open(server_log_path(server));
        for (count = 0; fgets(line, sizeof line, log);)
            count += strstr(line, "no answer from PostgreSQL in time") != NULL;
        fclose(log);
        assert_true(clock_mono_us() < until_us);
    }
}

/* The change of the tables itself, at the start and once more behind it. PostgreSQL ends neither
 * session by itself in that time. */
TEST(the_migration_stalls_twice)
{
    struct pg_proxy *proxy = pg_proxy_create(here.folder);
    char *through = stack_database_through(here.conninfo, pg_proxy_folder(proxy));

    pg_proxy_arm(proxy, "CREATE TABLE product (", PG_FAULT_HOLD);
    struct server *server = server_start("--database", through, "--work-timeout-ms", "300000",
                                         "--lock-ttl-ms", "400000");
    pg_proxy_wait_fault(proxy);
    pg_proxy_release(proxy);
    pg_proxy_arm(proxy, "CREATE TABLE product (", PG_FAULT_HOLD);
    pg_proxy_wait_fault(proxy);
    wait_given_up(server, 2);
    pg_proxy_release(proxy);
    server_wait_ready(server, 200, NULL);
    expect_order(server);
    server_stop(server);
    pg_proxy_destroy(proxy);
    free(through);
}

/* Later than at the start: one statement of a probe is not answered in time. That says nothing of
 * the schema, and the sessions that are open go on selling. */
TEST(a_probe_that_stalls_refuses_nobody)
{
    struct pg_proxy *proxy = pg_proxy_create(here.folder);
    char *through = stack_database_through(here.conninfo, pg_proxy_folder(proxy));
    struct server *server = server_start("--database", through, "--redis", NULL, "--amqp", NULL);
    struct buy buy = {.strategy = "conditional", .product = 1};

    shop_put(server, 1, 1000000, NULL);
    buy.user++;
    shop_expect_buy(server, &buy, 201, "",
                    NULL); /* its session is open: the next look is a probe's */
    pg_proxy_arm(proxy, "epoch_base", PG_FAULT_HOLD);
    pg_proxy_wait_fault(proxy);
    /* Until the probe has been given up, and it is said why. */
    for (int64_t since_us = clock_mono_us();;) {
        bool over = server_says(server, "PostgreSQL: the schema:");
        buy.user++;
        shop_expect_buy(server, &buy, 201, "", NULL);
        if (over)
            break;
        t_wait(since_us, "nothing is said of the probe");
    }
    server_stop(server);
    pg_proxy_destroy(proxy);
    free(through);
}

/* Nobody has been promised anything, so the start is not waited for. Its five seconds are not
 * over, or it would be listening. */
TEST(a_stop_ends_a_start_that_is_slow)
{
    struct pg_proxy *proxy = pg_proxy_create(here.folder);
    char *through = stack_database_through(here.conninfo, pg_proxy_folder(proxy));
    const char *const flags[] = {"--database", through, NULL};
    char log[4096];

    pg_proxy_arm(proxy, "seckill_schema", PG_FAULT_HOLD);
    struct server *server = server_launch(flags);
    pg_proxy_wait_fault(proxy);
    server_signal(server, SIGHUP); /* as when the terminal closes: no stop */
    server_signal(server, SIGTERM);
    assert_int_equal(server_wait(server, log, sizeof log), 0);
    if (strstr(log, "listening on"))
        fail_msg("it has waited: %s", log);
    pg_proxy_destroy(proxy);
    free(through);
}

/* Somebody makes the schema, and takes long. */
TEST(schema_lock_is_held)
{
    static const char *const flags[] = {NULL};

    witness_run(here.witness, "SELECT pg_advisory_lock(" SCHEMA_LOCK ")");
    struct server *waiting = server_launch(flags);
    struct server *stopped = server_launch(flags);
    server_wait_listening(waiting);
    server_wait_listening(stopped);
    assert_int_equal(server_status(waiting, "GET", "/readyz", NULL, NULL), 503);
    server_signal(stopped, SIGTERM);
    assert_int_equal(server_wait(stopped, NULL, 0), 0);
    witness_run(here.witness, "SELECT pg_advisory_unlock(" SCHEMA_LOCK ")");
    server_wait_ready(waiting, 200, NULL);
    expect_order(waiting);
    /* A server that finds the schema complete does not take the lock. */
    witness_run(here.witness, "SELECT pg_advisory_lock(" SCHEMA_LOCK ")");
    struct server *late = server_start(NULL);
    server_wait_ready(late, 200, NULL);
    server_stop(late);
    server_stop(waiting);
}

TEST_EACH(fresh_database, server_teardown)

int main(void)
{
    here.folder = stack_socket_folder();
    int failed = t_run_all(NULL, NULL);
    witness_close(here.witness);
    stack_database_drop("seckill_first_contact");
    free(here.conninfo);
    free(here.folder);
    return failed != 0;
}
