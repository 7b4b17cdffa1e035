/* Start and end of a server: the schema, refusals to start, and SIGTERM under load. */
#include "lib/fixtures/cases.h"
#include "lib/stack.h"

#include "base/clock.h"
#include "strategies/strategies.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 5, PATIENCE_US = 60000000 };

static char *conninfo; /* owned; a fresh database for each test */

static int fresh_database(void **state)
{
    (void)state;
    free(conninfo);
    conninfo = stack_database_create("seckill_lifetime");
    server_use_database(conninfo);
    return 0;
}

TEST(many_start_together)
{
    struct server *servers[TOGETHER];
    static const char *const flags[] = {NULL};

    for (int i = 0; i < TOGETHER; i++)
        servers[i] = server_launch(flags);
    for (int i = 0; i < TOGETHER; i++)
        server_wait_ready(servers[i], 200, NULL);
    struct witness *witness = witness_open(conninfo);
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM seckill_schema"), 1);
    for (int i = 0; i < TOGETHER; i++) {
        struct buy buy = {.strategy = "conditional", .product = 1, .user = 1 + i};
        if (i == 0)
            shop_put(servers[i], 1, TOGETHER, NULL);
        shop_expect_buy(servers[i], &buy, 201, "", NULL);
    }
    witness_expect_exact(witness, 1);
    witness_close(witness);
    for (int i = 0; i < TOGETHER; i++)
        server_stop(servers[i]);
}

TEST(a_start_changes_nothing)
{
    struct buy buy = {.strategy = "pessimistic", .product = 1, .user = 1};
    struct server *server = server_start(NULL);

    shop_put(server, 1, 5, NULL);
    shop_expect_buy(server, &buy, 201, "", NULL);
    server_stop(server);
    struct witness *witness = witness_open(conninfo);
    int64_t version = witness_number(witness, "SELECT version FROM product WHERE id = 1");
    server = server_start(NULL);
    assert_int_equal(witness_number(witness, "SELECT version FROM product WHERE id = 1"), version);
    assert_int_equal(witness_sale(witness, 1).stock, 4);
    assert_int_equal(witness_sale(witness, 1).orders, 1);
    witness_close(witness);
    server_stop(server);
}

TEST(a_newer_schema_is_refused)
{
    static const char *const flags[] = {NULL};
    char log[4096];

    server_stop(server_start(NULL));
    struct witness *witness = witness_open(conninfo);
    witness_run(witness, "INSERT INTO seckill_schema VALUES (1000000)");
    witness_close(witness);
    assert_int_equal(server_wait(server_launch(flags), log, sizeof log), 2);
    if (!strstr(log, "1000000") || !strstr(log, "schema") || !strstr(log, "--database"))
        fail_msg("it does not say why: %s", log);
}

static void expect_no_start(const char *options, const char *named)
{
    static const char *const flags[] = {NULL};
    char log[4096], *asked = NULL;

    assert_true(asprintf(&asked, "%s%s", conninfo, options) > 0);
    server_use_database(asked);
    assert_int_equal(server_wait(server_launch(flags), log, sizeof log), 2);
    if (!strstr(log, named))
        fail_msg("it does not name %s: %s", named, log);
    free(asked);
}

TEST(an_encoding_that_is_not_converted_is_refused)
{
    char *folder = stack_socket_folder(), *maintenance = NULL;

    expect_no_start(" client_encoding=MULE_INTERNAL", "MULE_INTERNAL");
    expect_no_start(" client_encoding=nonsense", "nonsense");
    assert_true(asprintf(&maintenance, "host=%s dbname=postgres user=postgres", folder) > 0);
    struct witness *postgres = witness_open(maintenance);
    stack_database_drop("seckill_lifetime");
    witness_run(postgres, "CREATE DATABASE seckill_lifetime OWNER seckill TEMPLATE template0"
                          " ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C'");
    witness_close(postgres);
    expect_no_start("", "EUC_JP");
    free(maintenance);
    free(folder);
}

/* Orders wait in lanes and stand in PostgreSQL when the signal comes: all are answered, and what
 * was said is true. */
TEST(sigterm_under_load)
{
    enum { EACH = 30 };
    struct server *server = server_start("--work-ms", "10", "--lock-wait-ms", "30000");
    struct crowd *crowd = crowd_create();
    int count = (int)strategy_count();

    for (int i = 0; i < count; i++)
        shop_put(server, i + 1, 1000, NULL);
    for (int i = 0; i < EACH * count; i++) {
        struct buy buy = {.strategy = strategy_at((size_t)(i % count))->name,
                          .product = 1 + i % count,
                          .user = 1 + i};
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    /* A connection still in the listening socket's backlog has not been accepted, and is lost. */
    T_UNTIL(server_metric(server, "seckill_http_connections", "") >= crowd_size(crowd));
    assert_true(crowd_wait(crowd, EACH, clock_mono_us() + PATIENCE_US));
    server_signal(server, SIGTERM);
    assert_true(crowd_wait(crowd, EACH * count, clock_mono_us() + PATIENCE_US));
    assert_int_equal(server_wait(server, NULL, 0), 0);
    /* Orders that were only accepted (202) are written before the server ends. */
    int sold = crowd_count(crowd, 201, "") + crowd_count(crowd, 202, "");
    if (sold + crowd_count(crowd, 503, "shutting_down") != crowd_size(crowd))
        fail_msg("%s", crowd_summary(crowd));
    struct witness *witness = witness_open(conninfo);
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM orders WHERE status = 1"), sold);
    witness_close(witness);
    crowd_destroy(crowd);
}

TEST_EACH(fresh_database, server_teardown)

int main(void)
{
    int failed = t_run_all(NULL, NULL);

    stack_database_drop("seckill_lifetime");
    free(conninfo);
    return failed != 0;
}
