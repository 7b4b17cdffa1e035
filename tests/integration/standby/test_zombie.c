/*
 * A primary that answers and takes no commit: its synchronous standby is silent, is another one, or
 * was promoted. With nothing left to sell nobody but the server's probe commits.
 */
#include "lib/fixtures/shop.h"
#include "lib/postgres.h"

#include "lib/t.h"

#include "base/clock.h"

static struct {
    struct postgres *primary;
    struct postgres *standby;
    struct server *server;
    struct witness *witness;
    int64_t product;
} here;

static int start(void **state)
{
    (void)state;
    here.primary = postgres_create(NULL);
    here.standby = postgres_standby(here.primary, "second");
    postgres_set(here.primary, "synchronous_standby_names", "second");
    here.witness = witness_open(postgres_conninfo(here.primary, "postgres", NULL));
    server_use_database(postgres_both(here.primary, here.standby));
    return 0;
}

static int stop(void **state)
{
    witness_close(here.witness);
    return postgres_teardown(state);
}

/* With a sale of one unit. */
static int start_server(void **state)
{
    (void)state;
    here.server = server_start("--work-timeout-ms", "4000");
    shop_put(here.server, ++here.product, 1, NULL);
    return 0;
}

static int end(void **state)
{
    postgres_resume(here.standby);
    return server_teardown(state);
}

/* How many of the probes' commits wait for the standby. */
static int64_t count_waiting(void)
{
    return witness_number(here.witness,
                          "SELECT count(*) FROM pg_stat_activity"
                          " WHERE wait_event = 'SyncRep' AND query LIKE '%%''probe''%%'");
}

static struct buy buy_of(const char *strategy, int64_t user)
{
    return (struct buy){.strategy = strategy, .product = here.product, .user = user};
}

/* Neither a refusal nor an order, once the standby has been silent for a second. */
static void expect_nothing_told(const char *id)
{
    static const char *const strategies[] = {"conditional", "pessimistic", "optimistic"};
    enum { STRATEGIES = sizeof strategies / sizeof *strategies };
    struct crowd *crowd = crowd_create();
    char target[64];

    for (int i = 0; i < STRATEGIES; i++) {
        struct buy buy = buy_of(strategies[i], 2);
        shop_crowd_buy(crowd, here.server, &buy);
    }
    snprintf(target, sizeof target, "/orders/%s", id);
    crowd_add(crowd, here.server, "GET", target, NULL, NULL);
    crowd_answers(crowd, t_patience_us());
    if (crowd_count(crowd, 503, NULL) != STRATEGIES + 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
}

/* One of the probe's commits hangs, and no more. */
static void a_sold_out_sale_is_not_ready_either(void **state)
{
    (void)state;
    struct buy buy = buy_of("conditional", 1);
    struct buy next = buy_of("conditional", 2);
    char id[SHOP_ID_SIZE];

    server_wait_ready(here.server, 200, NULL);
    shop_expect_buy(here.server, &buy, 201, "", id);
    shop_expect_buy_soon(here.server, &next, 409);
    postgres_pause(here.standby);
    clock_sleep_until(clock_mono_us() + CLOCK_US_PER_S);
    expect_nothing_told(id);
    server_wait_ready(here.server, 503, "commits wait for a synchronous standby");
    for (int64_t until_us = clock_mono_us() + 3 * CLOCK_US_PER_S; clock_mono_us() < until_us;)
        assert_int_equal(count_waiting(), 1);
    postgres_resume(here.standby);
    server_wait_ready(here.server, 200, NULL);
    shop_expect_buy_soon(here.server, &next, 409);
    server_stop(here.server);
}

/* One is there, but none that counts: which it is, is for pg_monitor to see. */
static void standbys_that_are_not_there_are_not_waited_for(void **state)
{
    (void)state;
    server_wait_ready(here.server, 200, NULL);
    witness_run(here.witness, "GRANT pg_monitor TO seckill");
    postgres_set(here.primary, "synchronous_standby_names", "third");
    server_wait_ready(here.server, 503, "no standby of synchronous_standby_names is there");
    postgres_set(here.primary, "synchronous_standby_names", "second");
    server_wait_ready(here.server, 200, NULL);
    witness_run(here.witness, "REVOKE pg_monitor FROM seckill");
    server_stop(here.server);
}

static bool sells(int64_t user)
{
    struct buy buy = buy_of("conditional", user);
    struct http_reply reply = shop_send(here.server, &buy);
    int status = reply.status;

    http_reply_fini(&reply);
    if (status != 201 && status != 503 && status != 504)
        fail_msg("it answers %d", status);
    return status == 201;
}

/* The standby is promoted, and the primary lives on. The last test. */
static void a_zombie_is_left(void **state)
{
    (void)state;
    int64_t user = 1;

    shop_put(here.server, here.product, 1000, NULL);
    assert_true(sells(user));
    postgres_promote(here.standby);
    T_UNTIL(sells(++user));
    struct witness *witness = witness_open(postgres_conninfo(here.standby, "postgres", NULL));
    assert_int_equal(witness_number(witness,
                                    "SELECT count(*) FROM orders WHERE product_id = %lld"
                                    " AND user_id IN (1, %lld) AND status = 1",
                                    (long long)here.product, (long long)user),
                     2);
    witness_close(witness);
    server_stop(here.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sold_out_sale_is_not_ready_either, start_server, end),
        cmocka_unit_test_setup_teardown(standbys_that_are_not_there_are_not_waited_for,
                                        start_server, end),
        cmocka_unit_test_setup_teardown(a_zombie_is_left, start_server, end),
    };

    return cmocka_run_group_tests(tests, start, stop) != 0;
}
